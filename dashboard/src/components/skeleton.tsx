// Loading placeholders. Skeletons appear after 200 ms, so that fast loads do not flicker.
import styles from './skeleton.module.css';

/** @param width a CSS length. @param height pixels. */
export function Skeleton({
  width = '100%',
  height = 14,
}: {
  readonly width?: string | number;
  readonly height?: number;
}) {
  return <span className={styles.skeleton} style={{ width, height }} aria-hidden />;
}

/** Placeholder of one block. */
export function SkeletonBlock({ height }: { readonly height: number }) {
  return (
    <div role="status" aria-label="Loading">
      <Skeleton height={height} />
    </div>
  );
}

/** Placeholder of a list. */
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
