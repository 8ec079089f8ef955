module paddlegate

go 1.24
