npm install paddlegate-wasm
