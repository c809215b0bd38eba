// Renders Helm charts and kustomizations with the libraries of Helm and kustomize themselves, for tests.
//
// One request a line on standard input, as JSON; one answer a line on standard output. An answer holds every object that would be
// applied, as JSON, or the error that the tool would print.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"sort"
	"strings"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	"helm.sh/helm/v3/pkg/releaseutil"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// request asks for one rendering; exactly one of Chart, Lint and Kustomization is set.
type request struct {
	// Chart is the folder of a chart to render as an installation.
	Chart string `json:"chart"`
	// Lint is the folder of a chart to examine.
	Lint string `json:"lint"`
	// Kustomization is the folder of a kustomization to build.
	Kustomization string `json:"kustomization"`
	// Release and Namespace are those of the installation.
	Release   string `json:"release"`
	Namespace string `json:"namespace"`
	// Values are the user's, merged over the chart's own.
	Values map[string]any `json:"values"`
}

// answer is what became of a request.
type answer struct {
	// Objects are the manifests; those of a chart's folder crds come first.
	Objects []json.RawMessage `json:"objects"`
	// Notes is the text that is shown after the installation.
	Notes string `json:"notes"`
	// Error is the message of a request that failed; empty for one that did not.
	Error string `json:"error"`
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		result, err := answerTo(lines.Bytes())
		if err != nil {
			result = answer{Error: err.Error()}
		}
		if err := out.Encode(result); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	if err := lines.Err(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func answerTo(line []byte) (answer, error) {
	var ask request
	if err := json.Unmarshal(line, &ask); err != nil {
		return answer{}, fmt.Errorf("not a request: %w", err)
	}
	switch {
	case ask.Chart != "":
		return render(ask)
	case ask.Lint != "":
		return examine(ask)
	case ask.Kustomization != "":
		return build(ask.Kustomization)
	}
	return answer{}, fmt.Errorf("a request names a chart or a kustomization")
}

// render is what `helm template` does, with the notes and the checks of the schema that an installation has.
func render(ask request) (answer, error) {
	chart, err := loader.Load(ask.Chart)
	if err != nil {
		return answer{}, err
	}
	options := chartutil.ReleaseOptions{Name: ask.Release, Namespace: ask.Namespace, Revision: 1, IsInstall: true}
	values, err := chartutil.ToRenderValues(chart, ask.Values, options, chartutil.DefaultCapabilities)
	if err != nil {
		return answer{}, err
	}
	files, err := engine.Render(chart, values)
	if err != nil {
		return answer{}, err
	}
	var result answer
	for _, crd := range chart.CRDObjects() {
		if err := result.add(crd.Name, string(crd.File.Data)); err != nil {
			return answer{}, err
		}
	}
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		switch base := path.Base(name); {
		case base == "NOTES.txt":
			result.Notes = files[name]
		case strings.HasPrefix(base, "_"):
		default:
			if err := result.add(name, files[name]); err != nil {
				return answer{}, err
			}
		}
	}
	return result, nil
}

// examine is what `helm lint --strict` does; each message is an error.
func examine(ask request) (answer, error) {
	linter := lint.All(ask.Lint, ask.Values, ask.Namespace, true)
	var messages []string
	for _, message := range linter.Messages {
		if message.Severity >= support.WarningSev {
			messages = append(messages, message.Error())
		}
	}
	if len(messages) > 0 {
		return answer{}, fmt.Errorf("%s", strings.Join(messages, "\n"))
	}
	return answer{}, nil
}

// build is what `kustomize build` does.
func build(folder string) (answer, error) {
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		return answer{}, err
	}
	text, err := resources.AsYaml()
	if err != nil {
		return answer{}, err
	}
	var result answer
	return result, result.add(folder, string(text))
}

// add takes over every document of a file; a key that stands twice is an error, and so is what the monitoring kinds do not have.
func (result *answer) add(name, text string) error {
	documents := releaseutil.SplitManifests(text)
	keys := make([]string, 0, len(documents))
	for key := range documents {
		keys = append(keys, key)
	}
	sort.Sort(releaseutil.BySplitManifestsOrder(keys))
	for _, key := range keys {
		object, err := yaml.YAMLToJSONStrict([]byte(documents[key]))
		if err != nil {
			return fmt.Errorf("%s: %w in\n%s", name, err, documents[key])
		}
		if string(object) == "null" {
			continue
		}
		if err := known(object); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		result.Objects = append(result.Objects, object)
	}
	return nil
}

// known checks kinds of the Prometheus operator, which no API server of a test knows, against its types.
func known(object []byte) error {
	var head struct {
		Kind string `json:"kind"`
	}
	if err := json.Unmarshal(object, &head); err != nil {
		return err
	}
	switch head.Kind {
	case "ServiceMonitor":
		return yaml.UnmarshalStrict(object, &monitoring.ServiceMonitor{})
	case "PrometheusRule":
		return yaml.UnmarshalStrict(object, &monitoring.PrometheusRule{})
	}
	return nil
}
