// The size of what is being read. It appears after 200 ms: what is there sooner does not flicker.
import styles from './skeleton.module.css';

/** @param width any length of CSS. @param height pixels. */
export function Skeleton({
  width = '100%',
  height = 14,
}: {
  readonly width?: string | number;
  readonly height?: number;
}) {
  return <span className={styles.skeleton} style={{ width, height }} aria-hidden />;
}

/** Of one thing that is as high. */
export function SkeletonBlock({ height }: { readonly height: number }) {
  return (
    <div role="status" aria-label="Loading">
      <Skeleton height={height} />
    </div>
  );
}

/** Rows of a list. */
export function SkeletonRows({ rows = 6 }: { readonly rows?: number }) {
  return (
    <div className={styles.rows} role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, at) => (
        <div key={at} className={styles.row}>
          <Skeleton width="28%" />
          <Skeleton width={`${18 + ((at * 7) % 20)}%`} />
          <Skeleton width="10%" />
        </div>
      ))}
    </div>
  );
}
