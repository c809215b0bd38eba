{{/* The arguments of the program, as a list in JSON: the pod is started with them, and the roles are made from them. */}}
{{- define "zonewright.arguments" -}}
{{- $root := . -}}
{{- $arguments := list -}}
{{- with .Values }}
{{- range $flag, $value := dict "log-level" .logLevel "log-format" .logFormat "interval" .interval "policy" .policy
    "registry" .registry "provider" (include "zonewright.provider" $root) "txt-owner-id" .txtOwnerId
    "annotation-filter" .annotationFilter "annotation-prefix" .annotationPrefix "label-filter" .labelFilter
    "gateway-namespace" .gatewayNamespace }}
{{- if $value }}{{ $arguments = append $arguments (printf "--%s=%s" $flag $value) }}{{ end }}
{{- end }}
{{- if has .registry (list "txt" "dynamodb") }}
{{- range $flag, $value := dict "txt-prefix" .txtPrefix "txt-suffix" .txtSuffix }}
{{- if $value }}{{ $arguments = append $arguments (printf "--%s=%s" $flag $value) }}{{ end }}
{{- end }}
{{- end }}
{{- if .namespaced }}
{{- $arguments = append $arguments (printf "--namespace=%s" (.sourceNamespace | default (include "zonewright.namespace" $root))) }}
{{- end }}
{{- if .enableGatewayListenerSets }}{{ $arguments = append $arguments "--gateway-listener-sets" }}{{ end }}
{{- if .triggerLoopOnEvent }}{{ $arguments = append $arguments "--events" }}{{ end }}
{{- range $flag, $list := dict "source" .sources "domain-filter" .domainFilters "exclude-domains" .excludeDomains
    "managed-record-types" .managedRecordTypes }}
{{- range $list }}{{ $arguments = append $arguments (printf "--%s=%s" $flag .) }}{{ end }}
{{- end }}
{{- if kindIs "slice" .extraArgs }}
{{- range .extraArgs }}{{ $arguments = append $arguments (tpl (toString .) $root) }}{{ end }}
{{- else }}
{{- range $name, $value := .extraArgs }}
{{- $flag := trimPrefix "--" $name }}
{{- if kindIs "bool" $value }}
{{- $arguments = append $arguments (ternary "--" "--no-" $value | printf "%[2]s%[1]s" $flag) }}
{{- else if kindIs "invalid" $value }}
{{- $arguments = append $arguments (printf "--%s" $flag) }}
{{- else }}
{{- range (kindIs "slice" $value | ternary $value (list $value)) }}
{{- $text := ternary (int64 . | toString) (toString .) (and (kindIs "float64" .) (eq (float64 (int64 .)) .)) }}
{{- $arguments = append $arguments (printf "--%s=%s" $flag (tpl $text $root)) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- toJson $arguments -}}
{{- end -}}

{{/* The values of a flag among the arguments, as a list in JSON. In: the list, the flag's name. */}}
{{- define "zonewright.flag" -}}
{{- $start := printf "--%s=" (index . 1) -}}
{{- $found := list -}}
{{- range index . 0 }}
{{- if hasPrefix $start . }}{{ $found = append $found (trimPrefix $start .) }}{{ end }}
{{- end }}
{{- toJson $found -}}
{{- end -}}
