// Shown in place of data that is not there: a skeleton while it loads, or why it could not be loaded.
import { ErrorState } from './notice.tsx';
import { SkeletonRows } from './skeleton.tsx';

interface UnloadedProps {
  /** What is loaded: "the rows". */
  readonly what: string;
  /** Null: it is being loaded. */
  readonly error: Error | null;
  readonly refetch: () => unknown;
  /** Rows of the skeleton. */
  readonly rows?: number;
}

/** @example if (data === undefined) return <Unloaded what="the rows" error={error} refetch={refetch} />; */
export function Unloaded({ what, error, refetch, rows = 6 }: UnloadedProps) {
  if (error === null) return <SkeletonRows rows={rows} />;
  return <ErrorState title={`Could not load ${what}`} error={error} onRetry={() => void refetch()} />;
}
