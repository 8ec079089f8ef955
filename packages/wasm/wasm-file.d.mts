/** What a bundler makes of the file: its address, or its bytes. For `init` of `paddlegate-wasm/web` or `/full/web`. */
declare const wasm: string | BufferSource;
export default wasm;
