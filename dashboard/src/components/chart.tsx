// A chart over time. The library that draws it is loaded when the first one is shown.
import { lazy, Suspense } from 'react';
import { SkeletonBlock } from './skeleton.tsx';

/** A line of it. */
export interface Series {
  readonly label: string;
  /** A variable of styles/tokens.css, such as `--ok`. */
  readonly color: string;
  /** One for each time; null where there is none. */
  readonly values: readonly (number | null)[];
  /** Filled down to zero. */
  readonly isFilled?: boolean;
  readonly isBars?: boolean;
}

export interface ChartProps {
  /** What it shows, for screen readers and the table that stands for it there. */
  readonly label: string;
  /** Ascending, ms since 1970. */
  readonly times: readonly number[];
  readonly series: readonly Series[];
  readonly height?: number;
  /** A number in words, for the axis and the legend. @example (ms) => `${ms} ms` */
  readonly format?: (value: number) => string;
  /** A line across: where the limit is. */
  readonly limit?: { readonly value: number; readonly label: string };
  /** Points in time with a line of their own, such as deployments. */
  readonly marks?: readonly { readonly at: number; readonly label: string }[];
  /** The reader has dragged over a range: ms since 1970. */
  readonly onRange?: (from: number, to: number) => void;
}

const Drawn = lazy(() => import('./chart-drawn.tsx'));
const HEIGHT_PX = 180;

/** @example <Chart label="Requests" times={times} series={[{ label: 'Requests', color: '--accent', values }]} /> */
export function Chart(props: ChartProps) {
  const { height = HEIGHT_PX } = props;
  return (
    <Suspense fallback={<SkeletonBlock height={height} />}>
      <Drawn {...props} height={height} />
    </Suspense>
  );
}
