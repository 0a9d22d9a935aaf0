{{- /* The data of the ConfigMaps with Configurations: files that `reprieve serve --config FOLDER` merges. */ -}}

{{- define "reprieve.file" -}}
{{ .name }}: |
{{- .text | trim | nindent 2 }}
{{- end }}

{{- define "reprieve.settings" -}}
{{- $head := dict "apiVersion" "reprieve.dev/v1alpha1" "kind" "Configuration" -}}
{{ include "reprieve.file" (dict "name" .name "text" (merge $head .settings | toYaml)) }}
{{- end }}

{{- define "reprieve.configuration" -}}
{{ include "reprieve.file" (dict "name" "configuration.yaml" "text" (.Files.Get "files/base/configuration.yaml")) }}
{{- if include "reprieve.called" . }}
{{ include "reprieve.file" (dict "name" "extender.yaml" "text" (.Files.Get "files/components/extender/configuration.yaml")) }}
{{- else }}
{{ include "reprieve.file" (dict "name" "extender.yaml" "text" (.Files.Get "files/base/extender.yaml")) }}
{{- end }}
{{ include "reprieve.settings" (dict "name" "planning.yaml" "settings" (include "reprieve.planning" . | fromYaml)) }}
{{- $quota := include "reprieve.quota" . | lower }}
{{- if ne $quota "off" }}
{{- $text := .Files.Get (printf "files/components/quota-%s/configuration.yaml" $quota) }}
{{ include "reprieve.file" (dict "name" (printf "quota-%s.yaml" $quota) "text" $text) }}
{{- end }}
{{- if .Values.multikueue.manager }}
{{ include "reprieve.settings" (dict "name" "multikueue.yaml" "settings" (dict "multikueue" dict)) }}
{{- end }}
{{- with .Values.configuration }}
{{ include "reprieve.settings" (dict "name" "settings.yaml" "settings" (deepCopy .)) }}
{{- end }}
{{- end }}

{{- define "reprieve.planning" -}}
planning:
  mode: {{ include "reprieve.mode" . | quote }}
{{- with .Values.selector }}
  enforcedNamespaceSelector:
{{- toYaml . | nindent 4 }}
{{- end }}
{{- with .Values.limits }}
  limits:
{{- toYaml . | nindent 4 }}
{{- end }}
{{- end }}

{{- define "reprieve.webhooksConfiguration" -}}
{{ include "reprieve.file" (dict "name" "configuration.yaml" "text" (.Files.Get "files/webhooks/configuration.yaml")) }}
{{- if eq (include "reprieve.quota" .) "Enforce" }}
{{- $text := .Files.Get "files/components/quota-enforce/webhooks-configuration.yaml" }}
{{ include "reprieve.file" (dict "name" "quota-enforce.yaml" "text" $text) }}
{{- end }}
{{- if .Values.kueue.installed }}
{{- $text := .Files.Get "files/components/kueue-installed/webhooks-configuration.yaml" }}
{{ include "reprieve.file" (dict "name" "kueue-installed.yaml" "text" $text) }}
{{- end }}
{{- if eq .Values.certificates "CertManager" }}
{{- $text := .Files.Get "files/components/cert-manager/webhooks-configuration.yaml" }}
{{ include "reprieve.file" (dict "name" "cert-manager.yaml" "text" $text) }}
{{- end }}
{{- /* Settings that both processes read. */ -}}
{{- $planning := pick (.Values.configuration.planning | default dict) "gates" "nativeGroups" }}
{{- $shared := pick .Values.configuration "jobs" }}
{{- if $planning }}{{ $_ := set $shared "planning" $planning }}{{ end }}
{{- with merge $shared (deepCopy .Values.webhooks.configuration) }}
{{ include "reprieve.settings" (dict "name" "settings.yaml" "settings" .) }}
{{- end }}
{{- end }}

{{- define "reprieve.pageConfiguration" -}}
{{ include "reprieve.file" (dict "name" "configuration.yaml" "text" (.Files.Get "files/components/page/configuration.yaml")) }}
{{- with .Values.page.configuration }}
{{ include "reprieve.settings" (dict "name" "settings.yaml" "settings" (deepCopy .)) }}
{{- end }}
{{- end }}

{{- define "reprieve.schedulerConfiguration" -}}
{{ include "reprieve.file" (dict "name" "kube-scheduler.yaml" "text" (.Files.Get "files/components/second-scheduler/kube-scheduler.yaml")) }}
{{- end }}
