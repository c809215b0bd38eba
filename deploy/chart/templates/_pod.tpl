{{/* Parts of the pod. */}}

{{/* A list of terms about pods with the selector of this pod where they have none. In: the root, the terms. */}}
{{- define "zonewright.withSelector" -}}
{{- $selector := dict "matchLabels" (include "zonewright.selector" (index . 0) | fromYaml) -}}
{{- $terms := list -}}
{{- range index . 1 }}
{{- $terms = append $terms (ternary . (merge (dict "labelSelector" $selector) .) (hasKey . "labelSelector")) }}
{{- end }}
{{- toJson $terms -}}
{{- end -}}

{{- define "zonewright.affinity" -}}
{{- $root := . -}}
{{- $affinity := deepCopy .Values.affinity -}}
{{- range $name := list "podAffinity" "podAntiAffinity" }}
{{- with get $affinity $name }}
{{- with .requiredDuringSchedulingIgnoredDuringExecution }}
{{- $terms := include "zonewright.withSelector" (list $root .) | fromJsonArray }}
{{- $_ := set (get $affinity $name) "requiredDuringSchedulingIgnoredDuringExecution" $terms }}
{{- end }}
{{- $weighted := list }}
{{- range .preferredDuringSchedulingIgnoredDuringExecution }}
{{- $term := include "zonewright.withSelector" (list $root (list .podAffinityTerm)) | fromJsonArray | first }}
{{- $weighted = append $weighted (dict "weight" .weight "podAffinityTerm" $term) }}
{{- end }}
{{- if $weighted }}{{ $_ := set (get $affinity $name) "preferredDuringSchedulingIgnoredDuringExecution" $weighted }}{{ end }}
{{- end }}
{{- end }}
{{- toYaml $affinity -}}
{{- end -}}

{{/* The container's environment: where it is, unless the user says so, and what the user gives. */}}
{{- define "zonewright.environment" -}}
{{- $given := dict -}}
{{- range .Values.env }}{{ $_ := set $given .name true }}{{ end }}
{{- $own := list -}}
{{- range $name, $path := dict "POD_NAMESPACE" "metadata.namespace" "POD_NAME" "metadata.name" "POD_UID" "metadata.uid" }}
{{- if not (hasKey $given $name) }}
{{- $own = append $own (dict "name" $name "valueFrom" (dict "fieldRef" (dict "fieldPath" $path))) }}
{{- end }}
{{- end }}
{{- toYaml (concat $own .Values.env) -}}
{{- end -}}

{{/* The secret's mount, if there is one. */}}
{{- define "zonewright.secretMount" -}}
{{- if and .Values.secretConfiguration.enabled .Values.secretConfiguration.mountPath }}
- name: secret
  mountPath: {{ tpl .Values.secretConfiguration.mountPath . }}
  {{- with .Values.secretConfiguration.subPath }}
  subPath: {{ tpl . $ }}
  {{- end }}
  readOnly: true
{{- end }}
{{- end -}}

{{- define "zonewright.sidecarContainer" -}}
{{- $webhook := .Values.provider.webhook -}}
- name: webhook
  image: {{ printf "%s:%s" $webhook.image.repository (toString $webhook.image.tag) | quote }}
  imagePullPolicy: {{ $webhook.image.pullPolicy }}
  {{- with $webhook.securityContext }}
  securityContext:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $webhook.env }}
  env:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $webhook.args }}
  args:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  ports:
    - name: http-webhook
      containerPort: {{ $webhook.service.port }}
      protocol: TCP
  {{- with $webhook.livenessProbe }}
  livenessProbe:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $webhook.readinessProbe }}
  readinessProbe:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- $mounts := include "zonewright.secretMount" . }}
  {{- if or $mounts $webhook.extraVolumeMounts }}
  volumeMounts:
    {{- $mounts | nindent 4 }}
    {{- with $webhook.extraVolumeMounts }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- end }}
  {{- with $webhook.resources }}
  resources:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}
