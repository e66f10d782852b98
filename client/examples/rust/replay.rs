//! Replays golden calls: replay HOST:PORT GOLDEN.jsonl
use std::{env, error::Error, fs};

use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage};
use serde_json::Value;
use tonic::transport::{Channel, Endpoint};
use tonic::{client::Grpc, codegen::http::uri::PathAndQuery, Code, Request};
use tonic_prost::ProstCodec;

/// A message of any type, as the bytes it has on the wire.
#[derive(Clone, Default, PartialEq, Debug)]
struct Encoded(Vec<u8>);

impl Message for Encoded {
    fn encode_raw(&self, out: &mut impl prost::bytes::BufMut) {
        out.put_slice(&self.0);
    }
    fn merge_field(
        &mut self,
        tag: u32,
        wire_type: prost::encoding::WireType,
        from: &mut impl prost::bytes::Buf,
        context: prost::encoding::DecodeContext,
    ) -> Result<(), prost::DecodeError> {
        // Every field of a response is a message.
        let mut held = Vec::new();
        prost::encoding::bytes::merge(wire_type, &mut held, from, context)?;
        prost::encoding::bytes::encode(tag, &held, &mut self.0);
        Ok(())
    }
    fn encoded_len(&self) -> usize {
        self.0.len()
    }
    fn clear(&mut self) {
        self.0.clear();
    }
}

/// The code of the answer, and whether it is the one that is due.
async fn passes(
    grpc: &mut Grpc<Channel>,
    pool: &DescriptorPool,
    call: &Value,
) -> Result<bool, Box<dyn Error>> {
    let method = call["method"].as_str().ok_or("no method")?;
    let kind = |what: &str| {
        pool.get_message_by_name(&format!("axis.v1.{method}{what}"))
            .ok_or("no such message")
    };
    let request = DynamicMessage::deserialize(kind("Request")?, &call["request"])?;
    let path = PathAndQuery::try_from(format!("/axis.v1.TensorService/{method}"))?;
    grpc.ready().await?;
    let codec = ProstCodec::<Encoded, Encoded>::default();
    let request = Request::new(Encoded(request.encode_to_vec()));
    match grpc.unary(request, path, codec).await {
        Err(status) => Ok(status.code() == Code::InvalidArgument
            && call["error"] == "INVALID_ARGUMENT"),
        Ok(_) if call["error"].is_string() => Ok(false),
        Ok(reply) => {
            let bytes = reply.into_inner().0;
            let found = DynamicMessage::decode(kind("Response")?, &bytes[..])?;
            let due = DynamicMessage::deserialize(kind("Response")?, &call["response"])?;
            Ok(found == due)
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = env::args().collect();
    let set = include_bytes!(concat!(env!("OUT_DIR"), "/contract.binpb"));
    let pool = DescriptorPool::decode(&set[..])?;
    let channel = Endpoint::from_shared(format!("http://{}", args[1]))?.connect().await?;
    let mut grpc = Grpc::new(channel);
    let (mut passed, mut failed) = (0, 0);
    for line in fs::read_to_string(&args[2])?.lines() {
        let call: Value = serde_json::from_str(line)?;
        if passes(&mut grpc, &pool, &call).await? {
            passed += 1;
        } else {
            failed += 1;
            println!("FAILED {}", call["name"]);
        }
    }
    println!("{passed} passed, {failed} failed");
    std::process::exit((failed > 0).into())
}
