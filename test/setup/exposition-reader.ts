// Reads Prometheus's exposition format (0.0.4) by its letter, independently of what writes it: tests hold /metrics
// against it. Throws on everything that the format forbids.

interface ReadSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Exposition {
  readonly samples: readonly ReadSample[];
  readonly types: Readonly<Record<string, string>>;
  /** Value of the sample of that name with exactly these labels; undefined without one. */
  value(name: string, labels?: Readonly<Record<string, string>>): number | undefined;
  /** Sum of all samples of a name that have these labels. */
  sum(name: string, labels?: Readonly<Record<string, string>>): number;
}

const metricName = /^[a-zA-Z_:][a-zA-Z0-9_:]*/;
const labelName = /^[a-zA-Z_][a-zA-Z0-9_]*/;
const suffixes: Readonly<Record<string, readonly string[]>> = { histogram: ['_bucket', '_sum', '_count'] };

export function parseExposition(text: string): Exposition {
  if (text !== '' && !text.endsWith('\n')) throw new Error('the last line does not end');
  const types: Record<string, string> = {};
  const samples: ReadSample[] = [];
  const closed = new Set<string>();
  let family = '';
  for (const line of text.split('\n').slice(0, -1)) {
    const comment = /^# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.*)$/.exec(line);
    if (comment !== null) {
      const [, word, name, rest] = comment as unknown as [string, string, string, string];
      if (name !== family) {
        if (closed.has(name)) throw new Error(`${name} comes in two groups`);
        closed.add(name);
        family = name;
      }
      if (word === 'TYPE') {
        if (types[name] !== undefined) throw new Error(`${name} has two types`);
        if (!['counter', 'gauge', 'histogram', 'summary', 'untyped'].includes(rest)) throw new Error(`type ${rest}`);
        types[name] = rest;
      }
      continue;
    }
    if (line.startsWith('#') || line === '') throw new Error(`neither a sample nor HELP nor TYPE: ${line}`);
    const sample = parseSample(line);
    const belongs = (suffixes[types[family] ?? ''] ?? ['']).some((suffix) => sample.name === family + suffix);
    if (!belongs) throw new Error(`${sample.name} stands under ${family}`);
    samples.push(sample);
  }
  const seen = new Set<string>();
  for (const { name, labels } of samples) {
    const key = JSON.stringify([name, Object.entries(labels).sort()]);
    if (seen.has(key)) throw new Error(`${key} comes twice`);
    seen.add(key);
  }
  checkHistograms(samples, types);
  const has = (sample: ReadSample, wanted: Readonly<Record<string, string>>): boolean =>
    Object.entries(wanted).every(([name, value]) => sample.labels[name] === value);
  return {
    samples,
    types,
    value: (name, labels = {}) =>
      samples.find(
        (sample) =>
          sample.name === name &&
          has(sample, labels) &&
          Object.keys(sample.labels).length === Object.keys(labels).length,
      )?.value,
    sum: (name, labels = {}) =>
      samples
        .filter((sample) => sample.name === name && has(sample, labels))
        .reduce((sum, { value }) => sum + value, 0),
  };
}

function parseSample(line: string): ReadSample {
  const name = metricName.exec(line)?.[0];
  if (name === undefined) throw new Error(`no metric name: ${line}`);
  let rest = line.slice(name.length);
  const labels: Record<string, string> = {};
  if (rest.startsWith('{')) {
    rest = rest.slice(1);
    while (!rest.startsWith('}')) {
      const label = labelName.exec(rest)?.[0];
      if (label === undefined || labels[label] !== undefined) throw new Error(`bad label: ${line}`);
      const value = /^="((?:[^"\\]|\\["\\n])*)"(,|(?=\}))/.exec(rest.slice(label.length));
      if (value === null) throw new Error(`bad label value: ${line}`);
      labels[label] = value[1]!.replaceAll(/\\(.)/g, (_, letter: string) => (letter === 'n' ? '\n' : letter));
      rest = rest.slice(label.length + value[0].length);
    }
    rest = rest.slice(1);
  }
  const value = /^ (NaN|[+-]Inf|[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?)$/.exec(rest)?.[1];
  if (value === undefined) throw new Error(`bad value: ${line}`);
  return { name, labels, value: value === '+Inf' ? Infinity : value === '-Inf' ? -Infinity : Number(value) };
}

/** Buckets grow, end with +Inf, and agree with `_count`. */
function checkHistograms(samples: readonly ReadSample[], types: Readonly<Record<string, string>>): void {
  for (const [family, type] of Object.entries(types)) {
    if (type !== 'histogram') continue;
    const groups = new Map<string, ReadSample[]>();
    for (const sample of samples) {
      if (sample.name !== `${family}_bucket`) continue;
      const { le: _, ...others } = sample.labels;
      const key = JSON.stringify(others);
      groups.set(key, [...(groups.get(key) ?? []), sample]);
    }
    for (const [key, buckets] of groups) {
      const bounds = buckets.map(({ labels }) => (labels['le'] === '+Inf' ? Infinity : Number(labels['le'])));
      if (bounds.at(-1) !== Infinity || bounds.some((bound, at) => at > 0 && !(bound > bounds[at - 1]!)))
        throw new Error(`${family} ${key}: bounds`);
      if (buckets.some(({ value }, at) => at > 0 && value < buckets[at - 1]!.value))
        throw new Error(`${family} ${key}: buckets shrink`);
      const count = samples.find(
        ({ name, labels }) => name === `${family}_count` && JSON.stringify(labels) === key,
      )?.value;
      if (count !== buckets.at(-1)!.value) throw new Error(`${family} ${key}: count ${count}`);
    }
  }
}
