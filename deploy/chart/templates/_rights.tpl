{{/*
The rights that the arguments need, from the table rights.yaml, in JSON: `everywhere` (rules of a ClusterRole), `within` (rules by
namespace) and `own` (rules in the pod's namespace). The same as `zonewright rbac` prints for these arguments.
*/}}
{{- define "zonewright.rights" -}}
{{- $table := .Files.Get "rights.yaml" | fromYaml -}}
{{- $arguments := include "zonewright.arguments" . | fromJsonArray -}}
{{- $namespace := include "zonewright.flag" (list $arguments "namespace") | fromJsonArray | last | default "*" -}}
{{- $gateways := include "zonewright.flag" (list $arguments "gateway-namespace") | fromJsonArray | last | default "*" -}}
{{- $types := include "zonewright.flag" (list $arguments "service-type-filter") | fromJsonArray -}}
{{- $nodePorts := or (empty $types) (has "NodePort" $types) -}}
{{- $asked := dict
    "node-ports" $nodePorts
    "members" (or $nodePorts (has "ClusterIP" $types))
    "listener-sets" (has "--gateway-listener-sets" $arguments)
    "traefik-new" (not (has "--traefik-disable-new" $arguments))
    "traefik-legacy" (has "--traefik-enable-legacy" $arguments) -}}
{{- $reach := dict "source" $namespace "gateway" $gateways "all" "*" "cluster" "*" -}}

{{/* What is read, as `group/resource`, and how far: a namespace, or `*`. What two sources read differently far is read everywhere. */}}
{{- $reads := dict -}}
{{- $sources := include "zonewright.flag" (list $arguments "source") | fromJsonArray | uniq -}}
{{- range $source := $sources }}
{{- if not (hasKey $table $source) }}
{{- fail (printf "sources: there is no source %q; the sources are %s" $source (keys $table | sortAlpha | join ", ")) }}
{{- end }}
{{- $rows := get $table $source }}
{{- if eq $source "unstructured" }}
{{- range include "zonewright.flag" (list $arguments "unstructured-resource") | fromJsonArray }}
{{- $parts := splitn "." 3 . }}
{{- $rows = append $rows (dict "group" ($parts._2 | default "") "resource" $parts._0 "in" "source") }}
{{- end }}
{{- end }}
{{- range $rows }}
{{- $if := get . "if" }}
{{- if or (not $if) (get $asked $if) }}
{{- $group := .group }}
{{- if eq $source "skipper-routegroup" }}
{{- $group = include "zonewright.flag" (list $arguments "skipper-routegroup-groupversion") | fromJsonArray | last | default $group | splitList "/" | first }}
{{- end }}
{{- $key := printf "%s/%s" $group .resource }}
{{- $far := get $reach .in }}
{{- $_ := set $reads $key (ternary $far "*" (eq $far (get $reads $key | default $far))) }}
{{- end }}
{{- end }}
{{- end }}

{{/* Verbs by `group/resource`, for each place. */}}
{{- $places := dict "*" dict -}}
{{- range $key, $place := $reads }}
{{- if not (hasKey $places $place) }}{{ $_ := set $places $place dict }}{{ end }}
{{- $rules := get $places $place }}
{{- $clusterWide := has $key (list "/nodes" "/namespaces") }}
{{- $_ := set $rules $key (ternary (list "list" "watch") (list "get" "list" "watch") $clusterWide) }}
{{- if hasSuffix "/dnsendpoints" $key }}{{ $_ := set $rules (printf "%s/status" $key) (list "update") }}{{ end }}
{{- end }}
{{- $first := keys $places | sortAlpha | last }}
{{- if gt (len $places) 1 }}{{ $first = without (keys $places) "*" | sortAlpha | first }}{{ end }}
{{- $clusterWide := or (gt (len (get $places "*")) 0) (eq (len $places) 1) }}
{{- $own := dict "/configmaps" (list "get" "create" "update") }}
{{/* Events on objects say why a name is not published, those on the pod that deletes are held. */}}
{{- range $rules := ternary (list (get $places "*")) (list (get $places $first) $own) $clusterWide }}
{{- range list "/events" "events.k8s.io/events" }}
{{- $_ := set $rules . (list "create" "patch") }}
{{- end }}
{{- end }}

{{- $within := dict }}
{{- range $place, $rules := omit $places "*" }}
{{- $_ := set $within $place (include "zonewright.rules" $rules | fromJsonArray) }}
{{- end }}
{{- $registry := dict }}
{{- if eq .Values.registry "configmap" }}
{{- with include "zonewright.flag" (list $arguments "registry-namespace") | fromJsonArray | last }}
{{- $registry = dict "namespace" . "rules" (list (dict "apiGroups" (list "") "resources" (list "configmaps") "verbs" (list "get" "list" "create" "patch"))) }}
{{- else }}
{{- $_ := set $own "/configmaps" (list "get" "list" "create" "patch" "update") }}
{{- end }}
{{- end }}
{{- dict "everywhere" (include "zonewright.rules" (get $places "*") | fromJsonArray) "within" $within "registry" $registry
    "own" (include "zonewright.rules" $own | fromJsonArray) | toJson -}}
{{- end -}}

{{/* Rules from verbs by `group/resource`: resources of one group with the same verbs stand together. */}}
{{- define "zonewright.rules" -}}
{{- $gathered := dict -}}
{{- range $key, $verbs := . }}
{{- $parts := splitn "/" 2 $key }}
{{- $rule := printf "%s/%s" $parts._0 (join "," $verbs) }}
{{- $_ := set $gathered $rule (append (get $gathered $rule | default list) $parts._1) }}
{{- end }}
{{- $rules := list -}}
{{- range $rule, $resources := $gathered }}
{{- $parts := splitn "/" 2 $rule }}
{{- $rules = append $rules (dict "apiGroups" (list $parts._0) "resources" $resources "verbs" (splitList "," $parts._1)) }}
{{- end }}
{{- toJson $rules -}}
{{- end -}}

{{/* A role and its binding. In: the root, kind, name, namespace (empty for none) and rules. */}}
{{- define "zonewright.role" -}}
{{- $root := index . 0 -}}
{{- $kind := index . 1 -}}
{{- $name := index . 2 -}}
{{- $namespace := index . 3 -}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $kind }}
metadata:
  name: {{ $name }}
  {{- with $namespace }}
  namespace: {{ . }}
  {{- end }}
  labels:
    {{- include "zonewright.labels" $root | nindent 4 }}
rules:
  {{- toYaml (index . 4) | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $kind }}Binding
metadata:
  name: {{ $name }}
  {{- with $namespace }}
  namespace: {{ . }}
  {{- end }}
  labels:
    {{- include "zonewright.labels" $root | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ $kind }}
  name: {{ $name }}
subjects:
  - kind: ServiceAccount
    name: {{ include "zonewright.serviceAccount" $root }}
    namespace: {{ include "zonewright.namespace" $root }}
{{ end -}}
