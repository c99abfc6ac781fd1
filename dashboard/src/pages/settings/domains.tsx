// Custom domains of a project with DNS records, verification and certificate.
import { GlobeIcon, PlusIcon } from '@radix-ui/react-icons';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, dataOf } from '../../api/client.ts';
import { useChange } from '../../api/use-change.ts';
import { Button, OutsideLink } from '../../components/button.tsx';
import { ConfirmByName } from '../../components/confirm.tsx';
import { Field, Input, Select } from '../../components/field.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { EmptyState, ErrorState } from '../../components/notice.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { noteDone } from '../../components/toast.tsx';
import type { Project } from '../../queries/account.ts';
import { domainsQuery, type Domain } from '../../queries/domains.ts';
import { DomainCard } from './domain-card.tsx';
import { SettingsPage } from './settings-page.tsx';
import styles from './settings.module.css';

export function DomainsPage() {
  const [isAdding, setAdding] = useState(false);
  return (
    <SettingsPage
      title="Domains"
      actions={
        <Button variant="primary" onClick={() => setAdding(true)}>
          <PlusIcon /> Add domain
        </Button>
      }
    >
      {(project) => (
        <>
          <Domains project={project} />
          {isAdding && <AddDomain project={project} onClose={() => setAdding(false)} />}
        </>
      )}
    </SettingsPage>
  );
}

function Domains({ project }: { readonly project: Project }) {
  const { data, error, isPending, refetch } = useQuery(domainsQuery(project.id));
  const [leaving, setLeaving] = useState<Domain | null>(null);
  const client = useQueryClient();
  const look = useChange({
    queryKey: ['domains', project.id],
    act: (id: string) => dataOf(api.post('/domains/:id/verify', { params: { id } })),
    failed: 'Could not check the DNS records',
    onDone: ({ hostname, status, problem }) => {
      if (status === 'active') noteDone(`${hostname} is active`);
      else if (problem === null) noteDone(`${hostname} verified`, 'The certificate is issued next.');
    },
  });
  const remove = useChange({
    queryKey: ['domains', project.id],
    act: (id: string) => dataOf(api.delete('/domains/:id', { params: { id } })),
    failed: 'Could not remove the domain',
    onDone: () => {
      setLeaving(null);
      void client.invalidateQueries({ queryKey: ['domains', project.id] });
    },
  });
  if (isPending) return <SkeletonRows />;
  if (data === undefined)
    return <ErrorState title="Could not load the domains" error={error} onRetry={() => void refetch()} />;
  return (
    <div className={styles.list}>
      {project.deploymentUrl !== null && (
        <div className={styles.card}>
          <div className={styles.cardHead}>
            <h2>{new URL(project.deploymentUrl).host}</h2>
            <OutsideLink href={project.deploymentUrl} size="small">
              Visit
            </OutsideLink>
          </div>
          <p className={styles.soft}>Default domain of the platform</p>
        </div>
      )}
      {data.items.map((domain) => (
        <DomainCard
          key={domain.id}
          domain={domain}
          isLooking={look.isPending && look.variables === domain.id}
          onLook={() => look.mutate(domain.id)}
          onRemove={() => setLeaving(domain)}
        />
      ))}
      {data.items.length === 0 && (
        <EmptyState
          icon={<GlobeIcon />}
          title="No custom domains yet"
          commands={['platform domains add www.example.com']}
        >
          Add a domain and create the DNS records shown here.
        </EmptyState>
      )}
      {leaving !== null && (
        <ConfirmByName
          isOpen
          onClose={() => setLeaving(null)}
          name={leaving.hostname}
          title={`Remove ${leaving.hostname}?`}
          action="Remove domain"
          onConfirm={() => remove.mutate(leaving.id)}
          isPending={remove.isPending}
        >
          The domain stops working immediately. To add it again, you have to verify it again.
        </ConfirmByName>
      )}
    </div>
  );
}

function AddDomain({ project, onClose }: { readonly project: Project; readonly onClose: () => void }) {
  const [hostname, setHostname] = useState('');
  const [leads, setLeads] = useState<'production' | 'branch' | 'redirect'>('production');
  const [to, setTo] = useState('');
  const add = useChange({
    queryKey: ['domains', project.id],
    failed: `Could not add ${hostname}`,
    act: async () => {
      const body = {
        hostname,
        ...(leads === 'branch' && { branch: to }),
        ...(leads === 'redirect' && { redirectTo: to }),
      };
      return await dataOf(api.post('/projects/:id/domains', { params: { id: project.id }, body }));
    },
    onDone: (made) => {
      noteDone(`${made.hostname} added`, 'Now create its DNS records.');
      onClose();
    },
  });
  return (
    <FormDialog
      onClose={onClose}
      title="Add domain"
      onSubmit={() => add.mutate(undefined)}
      action="Add domain"
      isPending={add.isPending}
    >
      <Field label="Domain" error={add.problem}>
        {(control) => (
          <Input
            {...control}
            isCode
            required
            autoFocus
            maxLength={253}
            placeholder="www.example.com"
            value={hostname}
            onChange={({ target }) => setHostname(target.value.trim())}
          />
        )}
      </Field>
      <Field label="Target">
        {(control) => (
          <Select {...control} value={leads} onChange={({ target }) => setLeads(target.value as typeof leads)}>
            <option value="production">Production</option>
            <option value="branch">Branch</option>
            <option value="redirect">Redirect to another domain</option>
          </Select>
        )}
      </Field>
      {leads !== 'production' && (
        <Field label={leads === 'branch' ? 'Branch' : 'Redirect to'}>
          {(control) => (
            <Input
              {...control}
              isCode
              required
              maxLength={255}
              value={to}
              onChange={({ target }) => setTo(target.value.trim())}
            />
          )}
        </Field>
      )}
    </FormDialog>
  );
}
