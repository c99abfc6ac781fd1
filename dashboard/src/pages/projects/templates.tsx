// Templates of new projects, each deployed by one click.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api, dataOf } from '../../api/client.ts';
import { ApiFailure } from '../../api/failure.ts';
import { Button } from '../../components/button.tsx';
import { Select } from '../../components/field.tsx';
import { Section } from '../../components/page.tsx';
import { noteFailed } from '../../components/toast.ts';
import styles from './projects.module.css';

/** Number of names that are tried if the template's name is taken. */
const NAMES_TRIED_MAX = 20;

interface TemplatesProps {
  readonly organizations: readonly { readonly id: string; readonly name: string }[];
}

export function Templates({ organizations }: TemplatesProps) {
  const navigate = useNavigate();
  const client = useQueryClient();
  const [organizationId, setOrganizationId] = useState(organizations[0]!.id);
  const { data } = useQuery({
    queryKey: ['templates'],
    queryFn: ({ signal }) => dataOf(api.get('/templates', { signal })),
    staleTime: Infinity,
  });
  const deploy = useMutation({
    async mutationFn(template: string) {
      const { id } = await createNamed(template, organizationId);
      return dataOf(api.post('/projects/:id/template', { params: { id }, body: { template } }));
    },
    onSuccess({ deploymentId }) {
      void client.invalidateQueries({ queryKey: ['projects'] });
      return navigate({ to: '/deployments/$deployment', params: { deployment: deploymentId } });
    },
    onError: (error) => noteFailed('Could not deploy the template', error),
  });
  if (data === undefined) return null;
  return (
    <Section
      title="Start from a template"
      actions={
        organizations.length > 1 && (
          <div>
            <Select
              aria-label="Organization of the template"
              value={organizationId}
              onChange={({ target }) => setOrganizationId(target.value)}
            >
              {organizations.map(({ id, name }) => (
                <option key={id} value={id}>
                  {name}
                </option>
              ))}
            </Select>
          </div>
        )
      }
    >
      <ul className={styles.templates}>
        {data.items.map(({ name, summary }) => (
          <li key={name} className={styles.template}>
            <strong>{name}</strong>
            <span className={styles.soft}>{summary}</span>
            <Button
              size="small"
              aria-label={`Deploy the template ${name}`}
              onClick={() => deploy.mutate(name)}
              isPending={deploy.isPending && deploy.variables === name}
              disabled={deploy.isPending}
            >
              Deploy
            </Button>
          </li>
        ))}
      </ul>
    </Section>
  );
}

/** Creates a project named after the template: `hono`, or `hono-2` if that is taken. */
export async function createNamed(template: string, organizationId: string): Promise<{ readonly id: string }> {
  for (let count = 1; ; count++) {
    const name = count === 1 ? template : `${template}-${count}`;
    try {
      return await dataOf(api.post('/projects', { body: { name, organizationId } }));
    } catch (error) {
      const isTaken = error instanceof ApiFailure && error.code === 'conflict';
      if (!isTaken || count === NAMES_TRIED_MAX) throw error;
    }
  }
}
