{{- define "atrium.name" -}}
{{- $own := default .Release.Name .Values.nameOverride -}}
{{- if contains .Chart.Name $own }}{{ $own | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" $own .Chart.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "atrium.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "atrium.labels" -}}
{{ include "atrium.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "atrium.serviceAccount" -}}
{{ if .Values.serviceAccount.create }}{{ default (include "atrium.name" .) .Values.serviceAccount.name }}{{ else }}{{ default "default" .Values.serviceAccount.name }}{{ end }}
{{- end }}

{{- /* The secret that holds one group of values: one that exists, or the chart's own. */ -}}
{{- define "atrium.secretOf" -}}
{{ default (printf "%s-%s" (include "atrium.name" .root) .group) (index .root.Values .group).existingSecret }}
{{- end }}
