// Renders the templates of a folder as Helm does, as far as they use nothing but Go's own template language.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"text/template"
)

func main() {
	var data map[string]any
	if err := json.NewDecoder(os.Stdin).Decode(&data); err != nil {
		panic(err)
	}
	files, err := filepath.Glob(filepath.Join(os.Args[1], "*.yaml"))
	if err != nil {
		panic(err)
	}
	for _, file := range files {
		parsed := template.Must(template.New(filepath.Base(file)).Option("missingkey=error").ParseFiles(file))
		fmt.Println("---")
		if err := parsed.Execute(os.Stdout, data); err != nil {
			panic(err)
		}
	}
}
