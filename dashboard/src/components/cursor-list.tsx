// A cursor-paginated list: loads the next page when its end scrolls into view, or by button.
import type { UseInfiniteQueryResult, InfiniteData } from '@tanstack/react-query';
import { useEffect, useEffectEvent, useRef, type ReactNode } from 'react';
import { Button } from './button.tsx';
import { ErrorState } from './notice.tsx';
import { Unloaded } from './unloaded.tsx';

/** Response of every list endpoint. */
export interface Page<Item> {
  readonly items: readonly Item[];
  readonly nextCursor: string | null;
}

/** Pagination options for queries. @example useInfiniteQuery({ queryKey, queryFn, ...byCursor }) */
export const byCursor = {
  initialPageParam: undefined as string | undefined,
  getNextPageParam: ({ nextCursor }: Page<unknown>): string | undefined => nextCursor ?? undefined,
};

interface CursorListProps<Item> {
  /** Plural noun of the items, in lower case: "deployments". */
  readonly name: string;
  readonly query: UseInfiniteQueryResult<InfiniteData<Page<Item>>>;
  /** Shown if the list is empty. */
  readonly empty: ReactNode;
  readonly children: (items: readonly Item[]) => ReactNode;
}

export function CursorList<Item>({ name, query, empty, children }: CursorListProps<Item>) {
  const { data, error, hasNextPage, isFetchingNextPage, fetchNextPage, refetch } = query;
  const end = useRef<HTMLDivElement>(null);
  const onEnd = useEffectEvent(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  });
  useEffect(() => {
    const element = end.current;
    if (element === null || !hasNextPage) return;
    const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting === true && onEnd(), {
      rootMargin: '300px',
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, [hasNextPage]);
  if (data === undefined) return <Unloaded what={name} error={error} refetch={refetch} />;
  const items = data.pages.flatMap((page) => page.items);
  if (items.length === 0) return empty;
  return (
    <>
      {children(items)}
      {error !== null && (
        <ErrorState title={`Could not load more ${name}`} error={error} onRetry={() => void refetch()} />
      )}
      {hasNextPage && (
        <div ref={end} style={{ display: 'flex', justifyContent: 'center', paddingTop: 12 }}>
          <Button size="small" variant="ghost" onClick={() => void fetchNextPage()} isPending={isFetchingNextPage}>
            Show more
          </Button>
        </div>
      )}
    </>
  );
}
