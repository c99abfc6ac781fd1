// Custom domains of a project with DNS records, verification and certificate.
import { GlobeIcon } from '@radix-ui/react-icons';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, dataOf } from '../../api/client.ts';
import { OutsideLink } from '../../components/button.tsx';
import { ConfirmByName } from '../../components/confirm.tsx';
import { EmptyState } from '../../components/notice.tsx';
import { noteDone } from '../../components/toast.ts';
import { Unloaded } from '../../components/unloaded.tsx';
import type { Project } from '../../queries/account.ts';
import { domainsQuery, type Domain } from '../../queries/domains.ts';
import { AddButton } from '../../records/add-button.tsx';
import { RecordForm } from '../../records/record-form.tsx';
import { useChange } from '../../records/use-change.ts';
import { DomainCard } from './domain-card.tsx';
import { SettingsPage } from './settings-page.tsx';
import styles from './settings.module.css';

export function DomainsPage() {
  return (
    <SettingsPage
      title="Domains"
      actions={({ id }) => (
        <AddButton label="Add domain">{({ onClose }) => <AddDomain id={id} onClose={onClose} />}</AddButton>
      )}
    >
      {(project) => <Domains project={project} />}
    </SettingsPage>
  );
}

function Domains({ project }: { readonly project: Project }) {
  const { data, error, refetch } = useQuery(domainsQuery(project.id));
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
  if (data === undefined) return <Unloaded what="the domains" error={error} refetch={refetch} />;
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

function AddDomain({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  return (
    <RecordForm
      title="Add domain"
      action="Add domain"
      failed="Could not add the domain"
      queryKey={['domains', id]}
      fields={{
        hostname: { label: 'Domain', isCode: true, maxLength: 253, placeholder: 'www.example.com' },
        target: {
          label: 'Target',
          choices: [
            ['production', 'Production'],
            ['branch', 'Branch'],
            ['redirect', 'Redirect to another domain'],
          ],
        },
        branch: { label: 'Branch', isCode: true, maxLength: 255, isShown: ({ target }) => target === 'branch' },
        redirectTo: {
          label: 'Redirect to',
          isCode: true,
          maxLength: 253,
          isShown: ({ target }) => target === 'redirect',
        },
      }}
      act={({ hostname, branch, redirectTo }) => {
        const body = { hostname, ...(branch !== '' && { branch }), ...(redirectTo !== '' && { redirectTo }) };
        return dataOf(api.post('/projects/:id/domains', { params: { id }, body }));
      }}
      onDone={({ hostname }) => noteDone(`${hostname} added`, 'Now create the DNS records of the domain.')}
      onClose={onClose}
    />
  );
}
