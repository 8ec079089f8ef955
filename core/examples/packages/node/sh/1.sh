npm install paddlegate
