// The series and marks of a chart: types, stacking, and points without a line. Used by chart.tsx and chart-drawn.tsx.
// Pure.

/** One line of a chart. */
export interface Series {
  readonly label: string;
  /** A variable of styles/tokens.css, such as `--ok`. */
  readonly color: string;
  /** One value per time; null for a gap. */
  readonly values: readonly (number | null)[];
  /** Filled area. */
  readonly isFilled?: boolean;
  readonly isBars?: boolean;
}

/** A point in time. */
export interface Mark {
  /** Ms since 1970. */
  readonly at: number;
  /** Label next to the line; may be empty. */
  readonly label: string;
}

/** A mark with the width of its label, in pixels. */
interface MeasuredMark {
  readonly x: number;
  readonly label: string;
  readonly width: number;
}

/**
 * Computes the left end of each mark's label, all in one row; null if there is no room for the label. A label is right
 * of its line or else left of it, if possible without crossing another line, and never over another label. Labels of
 * newer marks are placed first.
 *
 * @param marks from left to right
 * @param from left edge of the chart
 * @param to right edge of the chart
 */
export function placeLabels(marks: readonly MeasuredMark[], from: number, to: number, gap: number): (number | null)[] {
  let free = to;
  return marks
    .toReversed()
    .map(({ x: own, label, width }) => {
      const crosses = (left: number): boolean =>
        marks.some(({ x }) => x !== own && x > left - gap && x < left + width + gap);
      const places = [own + gap, own - gap - width].filter((left) => left >= from && left + width <= free);
      const place = places.find((left) => !crosses(left)) ?? places[0];
      if (label === '' || place === undefined) return null;
      free = place - gap;
      return place;
    })
    .toReversed();
}

/** A series as it is drawn, and its own values, which the legend shows. */
interface StackedSeries extends Series {
  readonly ownValues: readonly (number | null)[];
}

/**
 * Each series is drawn at the height of its sum with the series below it, the highest first, so that the lower ones
 * cover it.
 *
 * @returns the series from the top of the stack to its bottom. Gaps count as zero.
 */
export function stackedFromTop(series: readonly Series[]): StackedSeries[] {
  let below: readonly number[] = [];
  return series
    .map((one) => {
      const values = one.values.map((value, at) => (value ?? 0) + (below[at] ?? 0));
      below = values;
      return { ...one, values, ownValues: one.values };
    })
    .toReversed();
}

/** The value of a series at a position, without the series below it in the stack. */
export function ownValue(series: Series | StackedSeries, at: number): number | null {
  return ('ownValues' in series ? series.ownValues : series.values)[at] ?? null;
}

/** Positions of values between two gaps, which a line cannot show. */
export function isolatedPoints(values: readonly (number | null)[]): number[] {
  return values.flatMap((value, at) =>
    value !== null && (values[at - 1] ?? null) === null && (values[at + 1] ?? null) === null ? [at] : [],
  );
}
