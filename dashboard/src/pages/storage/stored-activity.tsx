// Calls to a state or to files, with the size of all data of this kind in the project.
import { useQuery } from '@tanstack/react-query';
import { projectQuery } from '../../queries/account.ts';
import type { BindingPlace } from '../../queries/resources.ts';
import { storageQuery, type Storage } from '../../queries/storage.ts';
import { mode } from '../../state/mode.ts';
import { Activity } from '../jobs/activity.tsx';

/** For each kind of binding, its name in the API's storage figures. */
const counted = { state: 'state', fs: 'files' } as const satisfies Record<string, Storage['kinds'][number]['kind']>;

interface StoredProps {
  readonly place: BindingPlace;
  readonly kind: keyof typeof counted;
}

/** Storage is counted per project, for all its states or all its files together. */
export function StoredActivity({ place, kind }: StoredProps) {
  const { data: project } = useQuery({ ...projectQuery(place.project), enabled: mode === 'production' });
  const { data: storage } = useQuery({
    ...storageQuery(project?.organizationId ?? ''),
    enabled: project !== undefined && mode === 'production',
  });
  const kinds = storage?.projects.find(({ projectId }) => projectId === place.id)?.kinds;
  const bytes = kinds?.find((one) => one.kind === counted[kind])?.bytes;
  const size = bytes === undefined ? null : { name: 'Stored by the project', bytes };
  return <Activity place={place} kind={kind} title="Calls" size={size} />;
}
