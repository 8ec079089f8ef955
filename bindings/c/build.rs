//! Names the shared library. With the feature `header` it also writes the header when the sources have changed.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    name_library();
    #[cfg(feature = "header")]
    write_header();
}

/// Programs that link to the library look for this name, which changes only with the ABI.
fn name_library() {
    match env::var("CARGO_CFG_TARGET_OS").as_deref() {
        Ok("linux" | "freebsd") => {
            println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libpaddlegate.so.0");
        }
        Ok("macos") => {
            println!("cargo::rustc-cdylib-link-arg=-Wl,-install_name,@rpath/libpaddlegate.0.dylib");
        }
        _ => {}
    }
}

#[cfg(feature = "header")]
fn write_header() {
    use std::fs;
    use std::path::Path;

    const HEADER: &str = "include/paddlegate.h";
    println!("cargo::rerun-if-changed=src");
    println!("cargo::rerun-if-changed=cbindgen.toml");
    println!("cargo::rerun-if-changed={HEADER}");
    let root = env::var("CARGO_MANIFEST_DIR").expect("cargo names the folder of the crate");
    let mut header = Vec::new();
    cbindgen::generate(&root).expect("the sources can be read as a C interface").write(&mut header);
    let path = Path::new(&root).join(HEADER);
    if fs::read(&path).ok().as_deref() != Some(&header) {
        fs::create_dir_all(path.parent().expect("the header is in a folder")).expect("a folder for the header");
        fs::write(&path, header).expect("the header can be written");
    }
}
