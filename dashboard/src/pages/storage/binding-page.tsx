// Layout of the binding pages: tabs of the area, choice of the binding, empty states. Passes project, branch and
// binding to the page.
import { useQuery } from '@tanstack/react-query';
import { Navigate, useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { EmptyState } from '../../components/notice.tsx';
import { Page } from '../../components/page.tsx';
import { TabLink, TabLinks } from '../../components/tabs.tsx';
import { Unloaded } from '../../components/unloaded.tsx';
import { mode } from '../../state/mode.ts';
import { resourcesQuery, type BindingPlace, type ResourcePlace } from '../../queries/resources.ts';
import { useBranch } from '../../shell/use-place.ts';
import { WithProject } from '../../shell/with-project.tsx';
import { kindsOf, type Area, type Kind } from './kinds.ts';
import styles from './storage.module.css';

interface AreaPageProps {
  readonly area: Area;
  /** Kind of the page; null for the index page, which redirects to the first binding. */
  readonly kind: Kind | null;
  readonly children?: (place: BindingPlace) => ReactNode;
}

/** A page of a binding. */
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

/** A page that needs project and branch. */
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
  if (data === undefined) return <Unloaded what="the bindings" error={error} refetch={refetch} />;
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
        <TabLinks label={own.title} isInner>
          {own.bindings.map((name) => (
            <TabLink key={name} to={addressOf(place, area, own, name)} search={keepBranch}>
              {name}
            </TabLink>
          ))}
        </TabLinks>
      )}
      {isThere ? (
        children?.({ ...place, binding: binding ?? '' })
      ) : (
        <EmptyState title={`No ${own.one} named ${binding ?? ''}`}>
          Declared by the current deployment: {own.bindings.length === 0 ? 'none' : own.bindings.join(', ')}.
        </EmptyState>
      )}
    </>
  );
}

/** Keeps only the branch in the URL when another binding is opened. */
function keepBranch(before: { readonly branch?: string | undefined }): { branch?: string } {
  return before.branch === undefined ? {} : { branch: before.branch };
}

function addressOf({ project }: ResourcePlace, area: Area, kind: Kind, binding: string | null): string {
  return `/projects/${project}/${area.path}/${kind.path}${kind.isAlone ? '' : `/${binding ?? ''}`}`;
}

function NoBindings({ area }: { readonly area: Area }) {
  return (
    <EmptyState title={area.emptyTitle} commands={mode === 'dev' ? [] : ['platform deploy']}>
      {area.emptyText} {mode === 'dev' ? 'The binding appears here when you save platform.yaml.' : 'Then deploy:'}
      <code className={styles.yaml}>{area.example}</code>
    </EmptyState>
  );
}
