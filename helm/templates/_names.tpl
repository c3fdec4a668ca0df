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

{{- /* A quantity of memory as MiB; 0 when it is written in another way than 2Gi, 2G, 1500Mi or the like. */ -}}
{{- define "atrium.mebibytes" -}}
{{- $units := dict "Ki" 0.0009765625 "Mi" 1.0 "Gi" 1024.0 "Ti" 1048576.0 "k" 0.00095367431640625 "M" 0.95367431640625 "G" 953.67431640625 "T" 953674.31640625 -}}
{{- $unit := regexFind "[A-Za-z]+$" . -}}
{{- if and (hasKey $units $unit) (regexMatch "^[0-9.]+[A-Za-z]+$" .) }}{{ mulf (trimSuffix $unit .) (index $units $unit) | int64 }}{{ else }}0{{ end }}
{{- end }}
