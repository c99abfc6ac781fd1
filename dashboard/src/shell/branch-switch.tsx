// Switches between production and a preview branch on pages that show resources.
import { CaretSortIcon } from '@radix-ui/react-icons';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useRouterState } from '@tanstack/react-router';
import { api, dataOf } from '../api/client.ts';
import { Button } from '../components/button.tsx';
import { Menu, MenuChoice } from '../components/menu.tsx';
import { mode } from '../state/mode.ts';
import { useBranch, usePlace } from './use-place.ts';

/** Pages with resources by branch. */
const BRANCHED = /^\/projects\/[^/]+\/(?:storage|jobs|users)(?:\/|$)/;
const PAGE = 100;

export function BranchSwitch() {
  const path = useRouterState({ select: ({ location }) => location.pathname });
  const { project } = usePlace();
  const branch = useBranch();
  const navigate = useNavigate();
  const isShown = mode === 'production' && project !== null && BRANCHED.test(path);
  const { data: branches = [] } = useQuery({
    queryKey: ['branches', project?.id],
    queryFn: async ({ signal }) => {
      const { items } = await dataOf(
        api.get('/deployments', {
          query: { projectId: project!.id, target: 'preview', status: 'success', limit: PAGE },
          signal,
        }),
      );
      return [...new Set(items.map((item) => item.branch))];
    },
    enabled: isShown,
  });
  if (!isShown) return null;
  const all = branch === null || branches.includes(branch) ? branches : [branch, ...branches];
  return (
    <Menu
      trigger={
        <Button size="small" aria-label={`Environment: ${branch ?? 'Production'}`}>
          {branch ?? 'Production'}
          <CaretSortIcon />
        </Button>
      }
    >
      <MenuChoice
        title="Environment"
        value={branch ?? ''}
        choices={[['', 'Production'], ...all.map((name) => [name, name] as const)]}
        onChoose={(next) =>
          void navigate({
            to: '.',
            search: (before: object) => ({ ...before, branch: next === '' ? undefined : next }),
          } as never)
        }
      />
    </Menu>
  );
}
