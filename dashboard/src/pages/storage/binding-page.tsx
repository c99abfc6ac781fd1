// The frame of every page about a binding: the tabs of its area, the choice between bindings of one kind, and what is
// said where there is none. Pages get the place that their questions are about.
import { useQuery } from '@tanstack/react-query';
import { Navigate, useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { EmptyState, ErrorState } from '../../components/notice.tsx';
import { Page } from '../../components/page.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { TabLink, TabLinks } from '../../components/tabs.tsx';
import { mode } from '../../mode.ts';
import { resourcesQuery, type BindingPlace, type ResourcePlace } from '../../queries/resources.ts';
import { useBranch } from '../../shell/use-place.ts';
import { WithProject } from '../../shell/with-project.tsx';
import { kindsOf, type Area, type Kind } from './kinds.ts';
import styles from './storage.module.css';

interface AreaPageProps {
  readonly area: Area;
  /** What is shown; null: the area's own address, which leads to its first binding. */
  readonly kind: Kind | null;
  readonly children?: (place: BindingPlace) => ReactNode;
}

/** A page about one binding of an area. */
export function AreaPage({ area, kind, children }: AreaPageProps) {
  const { binding } = useParams({ strict: false }) as { binding?: string };
  return (
    <ResourcePage title={kind?.title ?? area.title}>
      {(place) => (
        <AreaContent area={area} kind={kind} place={place} binding={binding ?? null}>
          {children}
        </AreaContent>
      )}
    </ResourcePage>
  );
}

/** A page that needs the project and the branch. */
export function ResourcePage({
  title,
  children,
}: {
  readonly title: string;
  readonly children: (place: ResourcePlace) => ReactNode;
}) {
  const branch = useBranch();
  return (
    <Page title={title} isWide>
      <WithProject>{({ id, name }) => children({ id, project: name, branch })}</WithProject>
    </Page>
  );
}

function AreaContent({
  area,
  kind,
  place,
  binding,
  children,
}: Omit<AreaPageProps, 'children'> & {
  readonly place: ResourcePlace;
  readonly binding: string | null;
  readonly children: AreaPageProps['children'];
}) {
  const { data, error, refetch } = useQuery(resourcesQuery(place));
  if (error !== null)
    return <ErrorState title="The bindings could not be read" error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <SkeletonRows />;
  const kinds = kindsOf(area, data.items);
  const first = kinds.find(({ bindings, isAlone }) => isAlone || bindings.length > 0);
  if (kind === null) {
    if (first === undefined || (first.isAlone && data.items.length === 0)) return <NoBindings area={area} />;
    return <Navigate to={addressOf(place, area, first, first.bindings[0] ?? null)} search={keepBranch} replace />;
  }
  const own = kinds.find(({ path }) => path === kind.path)!;
  const isThere = own.isAlone || own.bindings.includes(binding ?? '');
  return (
    <>
      <TabLinks label={area.title}>
        {kinds
          .filter(({ isAlone, bindings }) => isAlone || bindings.length > 0)
          .map((one) => (
            <TabLink
              key={one.path}
              to={addressOf(place, area, one, one.path === kind.path ? binding : (one.bindings[0] ?? null))}
              search={keepBranch}
            >
              {one.title}
            </TabLink>
          ))}
      </TabLinks>
      {own.bindings.length > 1 && (
        <nav className={styles.bindings} aria-label={`${own.title} of the project`}>
          {own.bindings.map((name) => (
            <TabLink key={name} to={addressOf(place, area, own, name)} search={keepBranch}>
              {name}
            </TabLink>
          ))}
        </nav>
      )}
      {isThere ? (
        children?.({ ...place, binding: binding ?? '' })
      ) : (
        <EmptyState title={`There is no ${own.one} ${binding ?? ''}`}>
          The deployment that is shown declares {own.bindings.length === 0 ? 'none' : own.bindings.join(', ')}.
        </EmptyState>
      )}
    </>
  );
}

/** Bindings of another kind or name show other things: of the address only the branch stays. */
function keepBranch(before: { readonly branch?: string | undefined }): { branch?: string } {
  return before.branch === undefined ? {} : { branch: before.branch };
}

function addressOf({ project }: ResourcePlace, area: Area, kind: Kind, binding: string | null): string {
  return `/projects/${project}/${area.path}/${kind.path}${kind.isAlone ? '' : `/${binding ?? ''}`}`;
}

function NoBindings({ area }: { readonly area: Area }) {
  return (
    <EmptyState title={area.emptyTitle} commands={mode === 'dev' ? [] : ['platform deploy']}>
      {area.emptyText} {mode === 'dev' ? 'It is here as soon as platform.yaml is saved.' : 'Then deploy:'}
      <code className={styles.yaml}>{area.example}</code>
    </EmptyState>
  );
}
