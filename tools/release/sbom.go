package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// component is a module in the list of what a program is made of, by CycloneDX 1.5.
type component struct {
	Type       string     `json:"type"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	PURL       string     `json:"purl"`
	Properties []property `json:"properties,omitempty"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// billOfMaterials is the CycloneDX list of the modules that are linked into the command for a target, each with its line of
// go.sum.
func (b *builder) billOfMaterials(t target) ([]byte, error) {
	modules, err := b.linked(t)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(b.root, "go.sum"))
	if err != nil {
		return nil, err
	}
	sums := map[string]string{}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); len(fields) == 3 {
			sums[fields[0]+"@"+fields[1]] = fields[2]
		}
	}
	of := func(kind, path, version string) component {
		return component{Type: kind, Name: path, Version: version, PURL: "pkg:golang/" + path + "@" + version}
	}
	var list struct {
		Format   string `json:"bomFormat"`
		Spec     string `json:"specVersion"`
		Version  int    `json:"version"`
		Metadata struct {
			Timestamp string    `json:"timestamp"`
			Component component `json:"component"`
		} `json:"metadata"`
		Components []component `json:"components"`
	}
	list.Format, list.Spec, list.Version = "CycloneDX", "1.5", 1
	list.Metadata.Timestamp = b.when.Format(time.RFC3339)
	list.Metadata.Component = of("application", "github.com/largemvc/largemvc", b.version)
	for _, m := range modules {
		c := of("library", m.path, m.version)
		if sum := sums[m.path+"@"+m.version]; sum != "" {
			c.Properties = []property{{"go.sum", sum}}
		}
		list.Components = append(list.Components, c)
	}
	return json.MarshalIndent(list, "", "  ")
}
