// A time series chart. The chart library is loaded with the first chart.
import { lazy, Suspense } from 'react';
import type { Mark, Series } from './chart-series.ts';
import { SkeletonBlock } from './skeleton.tsx';

export interface ChartProps {
  /** Accessible name. */
  readonly label: string;
  /** Ascending, ms since 1970. */
  readonly times: readonly number[];
  readonly series: readonly Series[];
  /** Draws the series on top of each other, the first at the bottom. */
  readonly isStacked?: boolean;
  readonly height?: number;
  /** Formats values of the axis and the legend. @example (ms) => `${ms} ms` */
  readonly format?: (value: number) => string;
  /** A horizontal line at the limit. */
  readonly limit?: { readonly value: number; readonly label: string };
  /** Vertical lines at points in time, such as deployments. */
  readonly marks?: readonly Mark[];
  /** Called when the user selects a range by dragging, with its start and end in ms since 1970. */
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
