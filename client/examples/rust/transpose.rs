//! Transposes a 2 x 3 tensor: transpose HOST:PORT
use std::{env, error::Error, time::Duration};

use axis::tensor::Contents;
use axis::tensor_service_client::TensorServiceClient;
use tonic::transport::Endpoint;

pub mod axis {
    tonic::include_proto!("axis.v1");
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let target = env::args().nth(1).ok_or("transpose HOST:PORT")?;
    let channel = Endpoint::from_shared(format!("http://{target}"))?
        .timeout(Duration::from_secs(60))
        .connect()
        .await?;
    // Cheap to clone, one for each task; they share the connection.
    let mut client = TensorServiceClient::new(channel)
        .max_decoding_message_size(usize::MAX);

    let numbers: [f32; 6] = [1., 2., 3., 4., 5., 6.];
    let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
    let request = axis::TransposeRequest {
        input: Some(axis::Tensor {
            data_type: axis::DataType::F32.into(),
            shape: vec![2, 3],
            contents: Some(Contents::Data(bytes.into())),
            ..Default::default()
        }),
        op: Some(axis::Transpose { order: vec![1, 0] }),
    };
    let reply = client.transpose(request).await?.into_inner();
    let output = reply.output.ok_or("no output")?;
    let Some(Contents::Data(bytes)) = output.contents else {
        return Err("no data".into());
    };
    let numbers: Vec<String> = bytes
        .chunks_exact(4)
        .map(|x| f32::from_le_bytes(x.try_into().unwrap()).to_string())
        .collect();
    println!("{:?} {}", output.shape, numbers.join(" "));
    Ok(())
}
