//! Generates the client, and the descriptors that JSON needs. Runs protoc.
use std::{env, path::PathBuf};

fn main() -> std::io::Result<()> {
    let proto = env::var("PROTO").unwrap_or("../../../proto".into());
    let out = PathBuf::from(env::var("OUT_DIR").unwrap());
    println!("cargo:rerun-if-changed={proto}/axis/v1");
    tonic_prost_build::configure()
        .build_server(false)
        .bytes(".axis.v1.Tensor.data") // shared, not copied to a Vec
        .file_descriptor_set_path(out.join("contract.binpb"))
        .compile_protos(
            &[format!("{proto}/axis/v1/tensor_service.proto")],
            &[proto],
        )
}
