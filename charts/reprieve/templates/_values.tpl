{{- /* What follows from the values. Each of these is a word, or empty for no. */ -}}

{{- define "reprieve.mode" -}}
{{ if eq (toString .Values.mode) "false" }}Off{{ else }}{{ .Values.mode }}{{ end }}
{{- end }}

{{- define "reprieve.quota" -}}
{{ if eq (toString .Values.quota) "false" }}Off{{ else }}{{ .Values.quota }}{{ end }}
{{- end }}

{{- define "reprieve.enforces" -}}
{{ if eq (include "reprieve.mode" .) "Enforce" }}yes{{ end }}
{{- end }}

{{- define "reprieve.rights" -}}
{{ if or (eq .Values.rights "Enforce") (and (eq .Values.rights "Auto") (include "reprieve.enforces" .)) }}yes{{ end }}
{{- end }}

{{- define "reprieve.called" -}}
{{ if ne .Values.scheduler.entries "None" }}yes{{ end }}
{{- end }}

{{- define "reprieve.labels" -}}
app.kubernetes.io/part-of: reprieve
{{- end }}

{{- define "reprieve.image" -}}
{{- $tag := .image.tag | default .root.Chart.AppVersion -}}
{{ .image.repository }}{{ if .image.digest }}@{{ .image.digest }}{{ else }}:{{ $tag }}{{ end }}
{{- end }}

{{- /* The name of a ConfigMap changes with its data, so a change rolls the pods, and a rollback finds the data again. */ -}}
{{- define "reprieve.hashed" -}}
{{ .name }}-{{ include .data .root | sha256sum | trunc 10 }}
{{- end }}

{{- define "reprieve.hook" -}}
helm.sh/hook: post-delete
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end }}
