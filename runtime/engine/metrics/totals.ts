// The supervisor's sums of the reports of all engines, including dead ones, so that totals never decrease. The number
// of rows for single deployments is limited. Further deployments are summed as `other`.
import { keyOf, labels, otherDeployments, type DeploymentReport, type MetricsReport, type Sample } from './report.ts';

interface Row {
  /** Its labels. */
  readonly labels: string;
  /** Counts of former engines. */
  readonly retained: Sums;
}

/** Values by metric name and labels. */
class Sums {
  #values = new Map<string, [name: string, labels: string, value: number]>();

  add(name: string, given: string, value: number): void {
    const key = `${name}{${given}`;
    const known = this.#values.get(key);
    if (known === undefined) this.#values.set(key, [name, given, value]);
    else known[2] += value;
  }

  addAll(samples: Iterable<Sample>): void {
    for (const [name, given, value] of samples) this.add(name, given, value);
  }

  samples(): Iterable<Sample> {
    return this.#values.values();
  }
}

/** Sums of reports. */
export class MetricsTotals {
  #deploymentsMax: number;
  #live = new Map<string, MetricsReport>();
  #retained = new Sums();
  /** Deployments with a separate row. */
  #rows = new Map<string, Row>();
  /** Deployments that appeared when all rows were in use. */
  #unnamed = new Set<string>();
  #retainedOthers = new Sums();

  /**
   * @param options.deploymentsMax number of rows for single deployments; all other deployments are summed as `other`.
   */
  constructor(options: { readonly deploymentsMax: number }) {
    this.#deploymentsMax = options.deploymentsMax;
  }

  /** Sets the latest report of a live engine. */
  update(engine: string, report: MetricsReport): void {
    const before = this.#live.get(engine)?.deployments ?? [];
    this.#live.set(engine, report);
    const now = new Map(report.deployments.map((deployment) => [keyOf(deployment.id, deployment.serves), deployment]));
    // The engine has dropped the deployment. If the deployment returns, it is counted from zero, which may have
    // happened since the last report.
    for (const deployment of before)
      if (hasRestarted(deployment, now.get(keyOf(deployment.id, deployment.serves)))) this.#retain(deployment);
    for (const deployment of report.deployments) this.#giveRow(deployment);
  }

  /** Called when the engine has exited: its counts are kept. */
  retire(engine: string): void {
    const report = this.#live.get(engine);
    if (report === undefined) return;
    this.#live.delete(engine);
    this.#retained.addAll(report.counters);
    for (const deployment of report.deployments) this.#retain(deployment);
  }

  #retain({ id, serves, counters }: DeploymentReport): void {
    (this.#rows.get(keyOf(id, serves))?.retained ?? this.#retainedOthers).addAll(counters);
  }

  /** All samples: sums of counters, gauges by engine, and rows of deployments. */
  samples(): Sample[] {
    const sums = new Sums();
    sums.addAll(this.#retained.samples());
    const rows = new Map<string, Sums>();
    const others = new Sums();
    for (const [key, { retained }] of this.#rows) {
      const row = new Sums();
      row.addAll(retained.samples());
      rows.set(key, row);
    }
    others.addAll(this.#retainedOthers.samples());
    const gauges: Sample[] = [];
    for (const [engine, report] of this.#live) {
      sums.addAll(report.counters);
      for (const { id, serves, counters } of report.deployments)
        (rows.get(keyOf(id, serves)) ?? others).addAll(counters);
      for (const [name, given, value] of report.gauges) gauges.push([name, join(labels({ engine }), given), value]);
    }
    const samples: Sample[] = [...sums.samples(), ...gauges];
    for (const [key, row] of rows) {
      const own = this.#rows.get(key)!.labels;
      for (const [name, given, value] of row.samples()) samples.push([name, join(own, given), value]);
    }
    const rest = labels({ deployment: otherDeployments.id, project: otherDeployments.project });
    for (const [name, given, value] of others.samples()) samples.push([name, join(rest, given), value]);
    return samples;
  }

  // The first deployments get the rows, and keep them while any engine reports them. If a deployment moved between its
  // row and `other`, both values would jump.
  #giveRow({ id, project, serves }: DeploymentReport): void {
    const key = keyOf(id, serves);
    if (id === otherDeployments.id || this.#rows.has(key) || this.#unnamed.has(key)) return;
    if (this.#rows.size >= this.#deploymentsMax) this.#forget();
    if (this.#rows.size >= this.#deploymentsMax) this.#unnamed.add(key);
    else this.#rows.set(key, { labels: labels({ deployment: id, project, ...serves }), retained: new Sums() });
  }

  /** Frees rows of deployments that are no longer served. */
  #forget(): void {
    const served = new Set<string>();
    for (const { deployments } of this.#live.values())
      for (const { id, serves } of deployments) served.add(keyOf(id, serves));
    for (const key of this.#rows.keys()) if (!served.has(key)) this.#rows.delete(key);
    for (const key of this.#unnamed) if (!served.has(key)) this.#unnamed.delete(key);
  }
}

/** Whether the counters have restarted since the previous report. */
function hasRestarted(before: DeploymentReport, now: DeploymentReport | undefined): boolean {
  if (now === undefined) return true;
  const values = new Map(now.counters.map(([name, given, value]) => [`${name}{${given}`, value]));
  return before.counters.some(([name, given, value]) => value > (values.get(`${name}{${given}`) ?? 0));
}

function join(first: string, second: string): string {
  return second === '' ? first : `${first},${second}`;
}
