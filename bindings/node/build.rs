//! Tells the linker that Node provides the functions of Node-API.

fn main() {
    napi_build::setup();
}
