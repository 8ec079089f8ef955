//go:build !cgo

package paddlegate

// The compiler shows this name, and not what is undefined without cgo.
var _ = paddlegate_needs_cgo_set_CGO_ENABLED_1_and_install_a_C_compiler
