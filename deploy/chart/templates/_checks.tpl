{{/* What the schema cannot say: values that exclude or need each other. */}}
{{- define "zonewright.checks" -}}
{{- if and .Values.txtPrefix .Values.txtSuffix }}
{{- fail "txtPrefix and txtSuffix exclude each other: keep the one that your claims were written with" }}
{{- end }}
{{- if and (or .Values.txtPrefix .Values.txtSuffix) (not (has .Values.registry (list "txt" "dynamodb"))) }}
{{- fail (printf "txtPrefix and txtSuffix say where claims stand in a zone; with registry %q none do" .Values.registry) }}
{{- end }}
{{- if and (eq (include "zonewright.provider" .) "webhook") (not (include "zonewright.sidecar" .)) }}
{{- $arguments := include "zonewright.arguments" . | fromJsonArray }}
{{- if not (include "zonewright.flag" (list $arguments "webhook-provider-url") | fromJsonArray) }}
{{- fail "provider.name is webhook: give provider.webhook.image.repository and .tag for one that runs in the pod, or extraArgs.webhook-provider-url for one elsewhere" }}
{{- end }}
{{- end }}
{{- if and (include "zonewright.sidecar" .) (not .Values.provider.webhook.image.tag) }}
{{- fail "provider.webhook.image.tag is missing: the chart cannot know which one you want" }}
{{- end }}
{{- if and .Values.sourceNamespace (not .Values.namespaced) }}
{{- fail "sourceNamespace counts only with namespaced=true" }}
{{- end }}
{{- if and .Values.serviceMonitor.enabled (not .Values.service.enabled) }}
{{- fail "serviceMonitor.enabled needs service.enabled: a ServiceMonitor finds the pod by its Service" }}
{{- end }}
{{- end -}}
