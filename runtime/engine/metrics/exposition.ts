// Formats samples as text in the exposition format of Prometheus (version 0.0.4). Called by the private port; pure.
import { families, type Family, type FamilyName } from './families.ts';
import type { Sample } from './report.ts';

/** `content-type` of the text. */
export const EXPOSITION_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/**
 * The text contains every family once, with its samples, in the order of the table. A sample of an unknown family is
 * dropped, so that an engine cannot add to the operator's metrics.
 */
export function exposition(samples: Iterable<Sample>): string {
  const lines = new Map<FamilyName, string>();
  for (const [name, labels, value] of samples) {
    const family = familyOf(name);
    if (family === null) continue;
    lines.set(family, `${lines.get(family) ?? ''}${name}${labels === '' ? '' : `{${labels}}`} ${number(value)}\n`);
  }
  let text = '';
  for (const [name, { type, help }] of Object.entries(families) as [FamilyName, Family][]) {
    const own = lines.get(name);
    if (own !== undefined) text += `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${own}`;
  }
  return text;
}

/** The family of a sample, or null. */
export function familyOf(sample: string): FamilyName | null {
  if (Object.hasOwn(families, sample))
    return families[sample as FamilyName].type === 'histogram' ? null : (sample as FamilyName);
  const base = sample.replace(/_(?:bucket|sum|count)$/, '');
  return Object.hasOwn(families, base) && families[base as FamilyName].type === 'histogram'
    ? (base as FamilyName)
    : null;
}

function number(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf';
  // CPU time is a sum of fractions, of which sixteen digits are not useful.
  return Number.isInteger(value) ? String(value) : String(Number(value.toFixed(3)));
}
