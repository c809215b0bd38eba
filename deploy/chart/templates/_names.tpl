{{/* Names, labels and places that all objects share. */}}

{{- define "zonewright.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "zonewright.fullname" -}}
{{- $name := .Values.nameOverride | default .Chart.Name -}}
{{- $release := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{- .Values.fullnameOverride | default $release | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "zonewright.namespace" -}}
{{- .Values.namespaceOverride | default .Release.Namespace -}}
{{- end -}}

{{- define "zonewright.serviceAccount" -}}
{{- $other := ternary (include "zonewright.fullname" .) "default" .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default $other -}}
{{- end -}}

{{/* The labels by which the pod is found; they never change, since those of a Deployment must not. */}}
{{- define "zonewright.selector" -}}
app.kubernetes.io/name: {{ include "zonewright.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "zonewright.labels" -}}
{{ include "zonewright.selector" . }}
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | toString | trunc 63 | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Metadata of an object that stands beside the pod. */}}
{{- define "zonewright.metadata" -}}
name: {{ include "zonewright.fullname" . }}
namespace: {{ include "zonewright.namespace" . }}
labels:
  {{- include "zonewright.labels" . | nindent 2 }}
{{- end -}}

{{/* The provider's name; `provider: NAME` is taken too, as external-dns' chart does. */}}
{{- define "zonewright.provider" -}}
{{- if kindIs "string" .Values.provider }}{{ .Values.provider }}{{ else }}{{ .Values.provider.name }}{{ end -}}
{{- end -}}

{{/* Not empty where a webhook provider runs in the pod. */}}
{{- define "zonewright.sidecar" -}}
{{- if and (eq (include "zonewright.provider" .) "webhook") (not (kindIs "string" .Values.provider)) -}}
{{- if .Values.provider.webhook.image.repository }}yes{{ end -}}
{{- end -}}
{{- end -}}

{{/* Secrets for pulling images, each a text or an object. */}}
{{- define "zonewright.pullSecrets" -}}
{{- range .Values.imagePullSecrets | default .Values.global.imagePullSecrets }}
- {{ ternary (dict "name" .) . (kindIs "string" .) | toJson }}
{{- end }}
{{- end -}}
