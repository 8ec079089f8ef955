// Prints the public methods of the Go package with their arguments, as Go's parser sees its sources.
package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"strings"
)

func main() {
	notTest := func(info fs.FileInfo) bool { return !strings.HasSuffix(info.Name(), "_test.go") }
	packages, err := parser.ParseDir(token.NewFileSet(), os.Args[1], notTest, 0)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	var functions []*ast.FuncDecl
	fields := map[string][]string{}
	for _, file := range packages["paddlegate"].Files {
		for _, declaration := range file.Decls {
			switch it := declaration.(type) {
			case *ast.FuncDecl:
				if it.Name.IsExported() {
					functions = append(functions, it)
				}
			case *ast.GenDecl:
				collectFields(it, fields)
			}
		}
	}
	surface := map[string]map[string][]string{}
	bags := bagsOf(functions)
	for _, function := range functions {
		of := owner(function)
		if of == "" {
			continue
		}
		if surface[of] == nil {
			surface[of] = map[string][]string{}
		}
		surface[of][function.Name.Name] = arguments(function, bags, fields)
	}
	if err := json.NewEncoder(os.Stdout).Encode(surface); err != nil {
		os.Exit(1)
	}
}

// collectFields keeps the fields of each struct, since a struct is a bag of arguments too.
func collectFields(declaration *ast.GenDecl, fields map[string][]string) {
	for _, spec := range declaration.Specs {
		if named, ok := spec.(*ast.TypeSpec); ok {
			if structure, ok := named.Type.(*ast.StructType); ok {
				fields[named.Name.Name] = names(structure.Fields)
			}
		}
	}
}

// owner returns what a function is of: its receiver, or nothing for an option.
func owner(function *ast.FuncDecl) string {
	if function.Recv != nil {
		name := typeName(function.Recv.List[0].Type)
		switch name {
		case "Store", "Limiter", "Permit", "Gate":
			return strings.ToLower(name)
		}
		return ""
	}
	switch function.Name.Name {
	case "Open":
		return "store"
	case "CallerKey", "GraphQLCost", "PlainKey":
		return "function"
	}
	return ""
}

// bagsOf returns the options of each type of option: the functions that return one.
func bagsOf(functions []*ast.FuncDecl) map[string][]string {
	bags := map[string][]string{}
	for _, function := range functions {
		if function.Recv != nil || function.Type.Results == nil {
			continue
		}
		name, own := typeName(function.Type.Results.List[0].Type), function.Name.Name
		// An option of several parts, such as a share and its weight.
		parts := []string{own}
		if own == "Share" {
			parts = append(parts, "weight")
		}
		switch name {
		case "WaitOption":
			bags["CallOption"] = append(bags["CallOption"], own)
			bags["LimiterOption"] = append(bags["LimiterOption"], own)
			bags["WaitOption"] = append(bags["WaitOption"], own)
		default:
			bags[name] = append(bags[name], parts...)
		}
	}
	return bags
}

func arguments(function *ast.FuncDecl, bags, fields map[string][]string) []string {
	found := []string{}
	for _, parameter := range function.Type.Params.List {
		name := typeName(parameter.Type)
		_, isVariadic := parameter.Type.(*ast.Ellipsis)
		switch {
		case isVariadic && bags[name] != nil:
			for _, option := range bags[name] {
				if name == "CallOption" {
					// Any call takes any of them.
					option = "?" + option
				}
				found = append(found, option)
			}
		case name == "Response" || name == "Budget" || name == "RequestAttributes" || name == "DocumentOptions":
			found = append(found, fields[name]...)
		default:
			for _, it := range parameter.Names {
				if it.Name != "ctx" && it.Name != "body" || name == "string" {
					found = append(found, it.Name)
				}
			}
		}
	}
	return found
}

func names(list *ast.FieldList) []string {
	found := []string{}
	for _, field := range list.List {
		for _, name := range field.Names {
			found = append(found, name.Name)
		}
	}
	return found
}

func typeName(expression ast.Expr) string {
	switch it := expression.(type) {
	case *ast.StarExpr:
		return typeName(it.X)
	case *ast.Ellipsis:
		return typeName(it.Elt)
	case *ast.Ident:
		return it.Name
	}
	return ""
}
