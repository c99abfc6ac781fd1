// Shown in place of missing data: a skeleton while the data loads, or the reason why it could not be loaded.
import { ErrorState } from './notice.tsx';
import { SkeletonRows } from './skeleton.tsx';

type UnloadedProps = Loaded & {
  /** The reason why the data is missing; null while it is being loaded. */
  readonly error: Error | null;
  readonly refetch: () => unknown;
  /** Rows of the skeleton. */
  readonly rows?: number;
};

type Loaded =
  /** What is loaded: "the rows". */
  | { readonly what: string; readonly one?: undefined }
  /** The kind of the record that is loaded, such as "deployment". The record may not exist. */
  | { readonly one: string; readonly what?: undefined };

/** @example if (data === undefined) return <Unloaded what="the rows" error={error} refetch={refetch} />; */
export function Unloaded({ what, one, error, refetch, rows = 6 }: UnloadedProps) {
  if (error === null) return <SkeletonRows rows={rows} />;
  const work = one === undefined ? { title: `Could not load ${what}` } : { one };
  return <ErrorState {...work} error={error} onRetry={() => void refetch()} />;
}
