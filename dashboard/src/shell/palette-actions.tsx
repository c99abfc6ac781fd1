// Actions of the palette on the project of the page: redeploy, roll back, add a variable, logs of a route.
import { ActivityLogIcon, CounterClockwiseClockIcon, PlusIcon, ReloadIcon } from '@radix-ui/react-icons';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { Command } from 'cmdk';
import { api, dataOf } from '../api/client.ts';
import type { Project } from '../queries/account.ts';

/** Production deployments among which the previous one is looked for. */
const RELEASES = 20;
const ROUTES_MAX = 100;

interface PaletteActionsProps {
  readonly project: Project;
  /** Whether to offer the logs of routes, too. */
  readonly withRoutes: boolean;
  readonly onClose: () => void;
}

export function PaletteActions({ project, withRoutes, onClose }: PaletteActionsProps) {
  const { id, name } = project;
  const navigate = useNavigate();
  const { data: releases } = useQuery({
    queryKey: ['deployments', id, 'palette'],
    queryFn: ({ signal }) =>
      dataOf(
        api.get('/deployments', {
          query: { projectId: id, target: 'production', status: 'success', limit: RELEASES },
          signal,
        }),
      ),
  });
  const { data: analytics } = useQuery({
    queryKey: ['usage', id, 'palette'],
    queryFn: ({ signal }) =>
      dataOf(api.get('/projects/:id/analytics', { params: { id }, query: { range: '24h' }, signal })),
    enabled: withRoutes,
  });
  const items = releases?.items ?? [];
  const at = items.findIndex(({ isLive }) => isLive);
  const live = items[at];
  const previous = at === -1 ? undefined : items.slice(at + 1).find(({ url }) => url !== null);
  const routes = (withRoutes ? (analytics?.routes ?? []) : [])
    .map(({ route }) => route)
    .filter((route) => route.startsWith('/'));
  const open = (to: '/projects/$project/logs' | '/projects/$project/settings/variables', search: object) => () => {
    onClose();
    void navigate({ to, params: { project: name }, search } as never);
  };
  const confirm = (action: 'promote' | 'redeploy', deployment: string) => () => {
    onClose();
    void navigate({ to: '/deployments/$deployment', params: { deployment }, search: { action } });
  };
  return (
    <Command.Group heading="Actions">
      {live !== undefined && (
        <Command.Item value={`${name} redeploy production`} onSelect={confirm('redeploy', live.id)}>
          <ReloadIcon />
          Redeploy production
        </Command.Item>
      )}
      {previous !== undefined && (
        <Command.Item value={`${name} roll back rollback`} onSelect={confirm('promote', previous.id)}>
          <CounterClockwiseClockIcon />
          Roll back
        </Command.Item>
      )}
      <Command.Item
        value={`${name} add new variable secret`}
        onSelect={open('/projects/$project/settings/variables', { new: true })}
      >
        <PlusIcon />
        Add a variable
      </Command.Item>
      {routes.slice(0, ROUTES_MAX).map((route) => (
        <Command.Item
          key={route}
          value={`${name} logs of ${route}`}
          onSelect={open('/projects/$project/logs', { route })}
        >
          <ActivityLogIcon />
          Logs of {route}
        </Command.Item>
      ))}
    </Command.Group>
  );
}
