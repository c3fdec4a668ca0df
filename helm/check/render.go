// Renders the chart as `helm template` does, for machines without helm: text/template and sprig, both as Debian packages them
// (golang-go, golang-github-masterminds-sprig-dev, golang-sigs-k8s-yaml-dev or golang-k8s-sigs-yaml-dev).
//
//	GO111MODULE=off GOPATH=/usr/share/gocode go run helm/check/render.go helm helm/ci/small-values.yaml
//
// It knows what this chart uses: values, files, named templates. It knows no cluster, hooks or sub-charts, and does not check the schema.
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"sigs.k8s.io/yaml"
)

type values = map[string]interface{}

type files struct{ folder string }

func (f files) Get(name string) string {
	text, err := os.ReadFile(filepath.Join(f.folder, name))
	must(err)
	return string(text)
}

func main() {
	folder, valuesFile := os.Args[1], os.Args[2]
	chart := read(filepath.Join(folder, "Chart.yaml"))
	merged := merge(read(filepath.Join(folder, "values.yaml")), read(valuesFile))
	paths, err := filepath.Glob(filepath.Join(folder, "templates", "*"))
	must(err)
	sort.Strings(paths)

	t := template.New("chart").Option("missingkey=zero")
	functions := sprig.TxtFuncMap()
	functions["toYaml"] = func(v interface{}) string {
		text, err := yaml.Marshal(v)
		must(err)
		return strings.TrimSuffix(string(text), "\n")
	}
	functions["required"] = func(what string, v interface{}) (interface{}, error) {
		if v == nil || v == "" {
			return nil, fmt.Errorf("%s is required", what)
		}
		return v, nil
	}
	functions["include"] = func(name string, data interface{}) (string, error) {
		var out bytes.Buffer
		err := t.ExecuteTemplate(&out, name, data)
		return out.String(), err
	}
	t.Funcs(functions)
	base := filepath.Base(folder)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		must(err)
		_, err = t.New(nameOf(path)).Parse(string(text))
		must(err)
	}
	for _, path := range paths {
		if !strings.HasSuffix(path, ".yaml") && !strings.HasSuffix(path, ".txt") {
			continue
		}
		data := values{
			"Values": merged,
			"Chart": values{"Name": chart["name"], "Version": chart["version"], "AppVersion": chart["appVersion"]},
			"Release": values{"Name": "rooms", "Namespace": "rooms", "Service": "Helm"},
			"Template": values{"BasePath": "templates", "Name": nameOf(path)},
			"Files": files{folder},
		}
		var out bytes.Buffer
		must(t.ExecuteTemplate(&out, nameOf(path), data))
		// What helm prints as the value that is not there would be nonsense in a manifest.
		text := strings.ReplaceAll(out.String(), "<no value>", "")
		if strings.HasSuffix(path, ".yaml") && strings.TrimSpace(text) != "" {
			fmt.Printf("---\n# Source: %s/%s\n%s\n", base, nameOf(path), strings.Trim(strings.TrimPrefix(strings.TrimSpace(text), "---\n"), "\n"))
		}
	}
}

func nameOf(path string) string { return "templates/" + filepath.Base(path) }

func read(path string) values {
	text, err := os.ReadFile(path)
	must(err)
	var out values
	must(yaml.Unmarshal(text, &out))
	return out
}

// A null removes the default, as in helm; maps are merged, all else is replaced.
func merge(defaults, given values) values {
	for key, value := range given {
		own, isMap := defaults[key].(values)
		other, alsoMap := value.(values)
		switch {
		case isMap && alsoMap:
			defaults[key] = merge(own, other)
		case value == nil:
			delete(defaults, key)
		default:
			defaults[key] = value
		}
	}
	return defaults
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
