module programs

go 1.24

require paddlegate v0.0.0

replace paddlegate => ../../packages/go
