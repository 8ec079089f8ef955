//! `uniffi-bindgen`: writes the Kotlin side of `paddlegate-uniffi` from its built library. Its makers publish a library only.

fn main() {
    uniffi::uniffi_bindgen_main();
}
