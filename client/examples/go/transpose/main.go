// Transposes a 2 x 3 tensor: transpose HOST:PORT
package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"log"
	"math"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	axis "example/axis/v1"
)

func main() {
	// One connection for the whole program; goroutines may share it.
	conn, err := grpc.NewClient(os.Args[1],
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(
			grpc.MaxCallRecvMsgSize(math.MaxInt32), grpc.WaitForReady(true)))
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	var data bytes.Buffer
	binary.Write(&data, binary.LittleEndian, []float32{1, 2, 3, 4, 5, 6})
	reply, err := axis.NewTensorServiceClient(conn).Transpose(ctx, &axis.TransposeRequest{
		Input: &axis.Tensor{
			DataType: axis.DataType_DATA_TYPE_F32,
			Shape:    []int64{2, 3},
			Contents: &axis.Tensor_Data{Data: data.Bytes()},
		},
		Op: &axis.Transpose{Order: []int64{1, 0}},
	})
	if err != nil {
		log.Fatal(err)
	}
	numbers := make([]float32, 6)
	if err := binary.Read(bytes.NewReader(reply.Output.GetData()), binary.LittleEndian, numbers); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("[%d, %d]", reply.Output.Shape[0], reply.Output.Shape[1])
	for _, number := range numbers {
		fmt.Printf(" %g", number)
	}
	fmt.Println()
}
