// Draws a chart with uPlot. chart.tsx loads it.
import { useEffect, useEffectEvent, useRef, useSyncExternalStore } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { usePreferences } from '../state/preferences.ts';
import styles from './chart.module.css';
import type { ChartProps } from './chart.tsx';
import { isolatedPoints, ownValue, placeLabels, stackedFromTop, type Mark } from './chart-series.ts';
import { countText } from './text.ts';
import { axisTimes, exactTime } from './time.tsx';

const SECOND_MS = 1000;
const NONE: readonly Mark[] = [];
const FONT = '11px "Inter Variable", sans-serif';

export default function ChartDrawn(props: ChartProps & { readonly height: number }) {
  const { label, times, series, isStacked = false, height, format = countText, limit, marks = NONE, onRange } = props;
  const { theme, timeZone } = usePreferences();
  const isDark = useSyncExternalStore(followScheme, isSchemeDark);
  const frame = useRef<HTMLDivElement>(null);
  const select = useEffectEvent((from: number, to: number) => onRange?.(from, to));
  useEffect(() => {
    const element = frame.current!;
    const color = (name: string): string => toneOf(element, name);
    const axis = {
      stroke: color('--chart-axis'),
      font: FONT,
      grid: { stroke: color('--chart-grid'), width: 1 },
      ticks: { show: false },
    };
    const layers = isStacked ? stackedFromTop(series) : series;
    const across = limit === undefined ? [] : [times.map(() => limit.value)];
    const plot = new uPlot(
      {
        width: element.clientWidth,
        height,
        ...(timeZone === 'UTC' && {
          tzDate: (seconds: number) => uPlot.tzDate(new Date(seconds * SECOND_MS), 'Etc/UTC'),
        }),
        cursor: { drag: { x: onRange !== undefined, y: false, setScale: false }, y: false },
        select: { show: onRange !== undefined, left: 0, top: 0, width: 0, height: 0 },
        axes: [
          {
            ...axis,
            size: 28,
            grid: { show: false },
            space: 64,
            values: (_, seconds) =>
              axisTimes(
                seconds.map((at) => at * SECOND_MS),
                timeZone,
              ),
          },
          { ...axis, size: 56, values: (_, values) => values.map((value) => (value === null ? '' : format(value))) },
        ],
        scales: { y: { range: (_, _least, most) => [0, Math.max(most, 1) * 1.1] } },
        series: [
          {
            label: 'Time',
            value: (_, seconds) => (seconds == null ? '' : exactTime(new Date(seconds * SECOND_MS), timeZone)),
          },
          ...layers.map((one): uPlot.Series => ({
            label: one.label,
            stroke: color(one.color),
            width: 1.5,
            points: {
              show: false,
              size: 5,
              fill: color(one.color),
              filter: one.isBars === true ? [] : isolatedPoints(one.values),
            },
            value: (_, value, _series, at) => (value == null || at == null ? '' : format(ownValue(one, at) ?? value)),
            ...((one.isFilled === true || one.isBars === true) && {
              fill: `color-mix(in oklch, ${color(one.color)}, transparent ${one.isBars === true ? 0 : 84}%)`,
            }),
            ...(one.isBars === true && { paths: uPlot.paths.bars!({ size: [0.8, 40] }), width: 0 }),
          })),
          ...across.map((): uPlot.Series => ({
            label: limit!.label,
            stroke: color('--chart-failed'),
            dash: [5, 4],
            width: 1,
            points: { show: false },
            value: () => format(limit!.value),
          })),
        ],
        hooks: {
          draw: [(drawn) => drawMarks(drawn, marks, color('--chart-axis'), color('--surface'))],
          setSelect: [
            (drawn) => {
              const { left, width } = drawn.select;
              if (width < 4) return;
              select(drawn.posToVal(left, 'x') * SECOND_MS, drawn.posToVal(left + width, 'x') * SECOND_MS);
              drawn.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
            },
          ],
        },
      },
      [times.map((at) => at / SECOND_MS), ...layers.map(({ values }) => [...values]), ...across] as uPlot.AlignedData,
      element,
    );
    const observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.destroy();
    };
    // The chart is recreated on every change, even of the theme or the time zone, because creating it is cheap.
  }, [times, series, isStacked, height, format, limit, marks, theme, isDark, timeZone, onRange === undefined]);
  return <div ref={frame} className={styles.chart} role="img" aria-label={label} />;
}

const darkScheme = matchMedia('(prefers-color-scheme: dark)');
const isSchemeDark = (): boolean => darkScheme.matches;

/** Calls a listener when the system changes between light and dark. */
function followScheme(listener: () => void): () => void {
  darkScheme.addEventListener('change', listener);
  return () => darkScheme.removeEventListener('change', listener);
}

/** A resolved colour for canvas, which supports neither variables nor light-dark(). */
function toneOf(element: HTMLElement, name: string): string {
  // With reduced motion, every element has a short transition, during which the computed colour is still the old one.
  element.style.transition = 'none';
  element.style.color = `var(${name})`;
  const { color } = getComputedStyle(element);
  element.style.color = '';
  element.style.transition = '';
  return color;
}

function drawMarks(plot: uPlot, marks: readonly Mark[], color: string, background: string): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.strokeStyle = color;
  ctx.font = `${11 * devicePixelRatio}px "Inter Variable", sans-serif`;
  ctx.textAlign = 'left';
  ctx.textBaseline = 'alphabetic';
  ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
  const [from, to] = [bbox.left, bbox.left + bbox.width];
  const shown = marks
    .toSorted((one, other) => one.at - other.at)
    .map(({ at, label }) => ({
      x: Math.round(plot.valToPos(at / SECOND_MS, 'x', true)),
      label,
      width: ctx.measureText(label).width,
    }))
    .filter(({ x }) => x >= from && x <= to);
  for (const { x } of shown) {
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
  }
  const gap = 4 * devicePixelRatio;
  for (const [index, left] of placeLabels(shown, from, to, gap).entries()) {
    if (left === null) continue;
    const { label, width } = shown[index]!;
    ctx.fillStyle = background;
    ctx.fillRect(left - gap / 2, bbox.top, width + gap, 14 * devicePixelRatio);
    ctx.fillStyle = color;
    ctx.fillText(label, left, bbox.top + 11 * devicePixelRatio);
  }
  ctx.restore();
}
