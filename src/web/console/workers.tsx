/** How each worker is doing, over the last minutes that this page was open. */
import { useEffect, useState } from 'react';
import { Chart, readable } from './chart.tsx';
import { Waiting } from './parts.tsx';
import { type Moment, ratesOf, valuesOf, type WorkerReport, withMoment } from './series.ts';
import { useLoaded } from './session.tsx';

interface Answer {
  readonly data: readonly { readonly address: string; readonly report: WorkerReport | null }[];
}

const EVERY_MS = 2_000;
const PER_PAGE = 6;
const MIB = 1_048_576;

export function WorkersView() {
  const answer = useLoaded<Answer>('/v2/console/workers', EVERY_MS);
  const [histories, setHistories] = useState<ReadonlyMap<string, readonly Moment[]>>(new Map());
  const [shown, setShown] = useState(PER_PAGE);
  const { value } = answer;
  useEffect(() => {
    if (value === null) return;
    const atSeconds = Date.now() / 1_000;
    setHistories((before) => {
      const reported = value.data.flatMap(({ address, report }) => (report === null ? [] : [{ address, report }]));
      return new Map(
        reported.map(({ address, report }) => [address, withMoment(before.get(address) ?? [], { atSeconds, report })]),
      );
    });
  }, [value]);
  if (value === null) return <Waiting of={answer} />;
  const { data } = value;
  const silent = data.filter(({ report }) => report === null).length;
  return (
    <>
      <div className="head">
        <h1>Workers</h1>
        <p className="quiet" role="status">
          {data.length} {data.length === 1 ? 'worker' : 'workers'}
          {silent > 0 && `, ${silent} did not answer`}
          {answer.error !== null && `. ${answer.error.message}`}
        </p>
      </div>
      {data.slice(0, shown).map(({ address, report }) => (
        <Worker key={address} address={address} report={report} history={histories.get(address) ?? []} />
      ))}
      {data.length > shown && (
        <button type="button" onClick={() => setShown(shown + PER_PAGE)}>
          {data.length - shown} more
        </button>
      )}
    </>
  );
}

function Worker({ address, report, history }: { address: string; report: WorkerReport | null; history: readonly Moment[] }) {
  if (report === null) {
    return (
      <section className="card worker">
        <h2>{address}</h2>
        <span className="status bad">did not answer</span>
      </section>
    );
  }
  return (
    <section className="card worker" aria-label={`Worker ${address}`}>
      <div className="worker-head">
        <h2>{address}</h2>
        <span className={report.isReady ? 'status good' : 'status busy'}>{report.isReady ? 'ready' : 'not ready'}</span>
        <dl className="figures">
          <Figure name="Rooms" value={String(report.rooms)} />
          <Figure name="Connections" value={String(report.connections)} />
          <Figure name="Memory" value={`${readable(report.memoryBytes / MIB)} MiB`} />
          <Figure name="Lease" value={`${report.leaseRemainingSeconds.toFixed(1)} s`} />
          <Figure name="Up" value={duration(report.uptimeSeconds)} />
        </dl>
      </div>
      <Charts history={history} />
    </section>
  );
}

function Charts({ history }: { history: readonly Moment[] }) {
  const seconds = history.map(({ atSeconds }) => atSeconds);
  const busy = ratesOf(history, 'cpuSeconds').map((part) => (part === null ? null : part * 100));
  return (
    <div className="charts">
      <Chart title="Load" unit="% of a core" seconds={seconds} lines={[{ name: '', values: busy }]} />
      <Chart
        title="Rooms, sockets"
        unit=""
        seconds={seconds}
        lines={[
          { name: '', values: valuesOf(history, 'rooms') },
          { name: '', values: valuesOf(history, 'connections') },
        ]}
      />
      <Chart
        title="Loop lag"
        unit="ms"
        seconds={seconds}
        lines={[
          { name: 'p50', values: valuesOf(history, 'loopLagP50Seconds', 1_000) },
          { name: 'p99', values: valuesOf(history, 'loopLagP99Seconds', 1_000) },
        ]}
      />
      <Chart
        title="Gate age"
        unit="ms"
        seconds={seconds}
        lines={[{ name: '', values: valuesOf(history, 'gateAgeSeconds', 1_000) }]}
      />
      <Chart
        title="Journal write"
        unit="ms"
        seconds={seconds}
        lines={[
          { name: 'p50', values: valuesOf(history, 'flushP50Seconds', 1_000) },
          { name: 'p99', values: valuesOf(history, 'flushP99Seconds', 1_000) },
        ]}
      />
      <Chart
        title="Request"
        unit="ms"
        seconds={seconds}
        lines={[
          { name: 'p50', values: valuesOf(history, 'requestP50Seconds', 1_000) },
          { name: 'p99', values: valuesOf(history, 'requestP99Seconds', 1_000) },
        ]}
      />
      <Chart
        title="Requests"
        unit="a second"
        seconds={seconds}
        lines={[{ name: '', values: ratesOf(history, 'requestsTotal') }]}
      />
      <Chart
        title="Changes kept"
        unit="a second"
        seconds={seconds}
        lines={[{ name: '', values: ratesOf(history, 'appendsTotal') }]}
      />
    </div>
  );
}

function Figure({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

function duration(seconds: number): string {
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.round(seconds / 3_600)} h` : `${Math.round(seconds / 86_400)} days`;
}
