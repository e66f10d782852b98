// Replays golden calls: replay HOST:PORT GOLDEN.jsonl
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	_ "example/axis/v1"
)

type call struct {
	Name, Method, Error string
	Request, Response   json.RawMessage
}

// message reads what is spelled in JSON as axis.v1.NAME.
func message(name string, spelled []byte) proto.Message {
	kind, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName("axis.v1." + name))
	if err != nil {
		log.Fatal(err)
	}
	made := kind.New().Interface()
	if len(spelled) > 0 {
		if err := protojson.Unmarshal(spelled, made); err != nil {
			log.Fatal(err)
		}
	}
	return made
}

func passes(conn *grpc.ClientConn, c call) bool {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	found := message(c.Method+"Response", nil)
	err := conn.Invoke(ctx, "/axis.v1.TensorService/"+c.Method, message(c.Method+"Request", c.Request), found)
	if err != nil || c.Error != "" {
		return code.Code(status.Code(err)).String() == c.Error
	}
	return proto.Equal(found, message(c.Method+"Response", c.Response))
}

func main() {
	conn, err := grpc.NewClient(os.Args[1], grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		log.Fatal(err)
	}
	file, err := os.Open(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	passed, failed := 0, 0
	for lines := json.NewDecoder(file); ; {
		var c call
		if err := lines.Decode(&c); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			log.Fatal(err)
		}
		if passes(conn, c) {
			passed++
		} else {
			failed++
			fmt.Println("FAILED", c.Name)
		}
	}
	fmt.Printf("%d passed, %d failed\n", passed, failed)
	if failed > 0 {
		os.Exit(1)
	}
}
