// Asks kube-scheduler's own filters which nodes take which pods, for tests that compare our filters with them.
//
// A line of JSON on stdin is a cluster and steps (type Case). The answer is a line of JSON on stdout: for each step that
// has a pod one object, with the plugin and the reason by the name of each node that refuses the pod. The steps change
// the cluster one after the other: pods are removed, and a pod with a node is placed there after it was asked about. If it
// fits there, it takes the volumes that it would get.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/validation"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

// Case is a cluster, and what happens there.
type Case struct {
	Nodes                  []*v1.Node                      `json:"nodes"`
	Pods                   []*v1.Pod                       `json:"pods"`
	Namespaces             []*v1.Namespace                 `json:"namespaces"`
	Services               []*v1.Service                   `json:"services"`
	ReplicationControllers []*v1.ReplicationController     `json:"replicationControllers"`
	ReplicaSets            []*appsv1.ReplicaSet            `json:"replicaSets"`
	StatefulSets           []*appsv1.StatefulSet           `json:"statefulSets"`
	PersistentVolumes      []*v1.PersistentVolume          `json:"persistentVolumes"`
	PersistentVolumeClaims []*v1.PersistentVolumeClaim     `json:"persistentVolumeClaims"`
	StorageClasses         []*storagev1.StorageClass       `json:"storageClasses"`
	CSINodes               []*storagev1.CSINode            `json:"csiNodes"`
	CSIDrivers             []*storagev1.CSIDriver          `json:"csiDrivers"`
	CSIStorageCapacities   []*storagev1.CSIStorageCapacity `json:"csiStorageCapacities"`
	// Configuration is a KubeSchedulerConfiguration with one profile. Without one, the default profile is asked.
	Configuration json.RawMessage `json:"configuration"`
	Steps         []Step          `json:"steps"`
}

// Step removes pods (namespace/name), or asks about a pod and then places it on the node, if it names one.
type Step struct {
	Remove []string `json:"remove"`
	Pod    *v1.Pod  `json:"pod"`
	Node   string   `json:"node"`
}

// Refusal is why a node does not take a pod.
type Refusal struct {
	Plugin string `json:"plugin"`
	Reason string `json:"reason"`
}

// probe has a framework for each configuration. Its snapshot and listers are replaced for each case.
type probe struct {
	framework.Framework
	frameworks map[string]framework.Framework
	client     clientset.Interface
	lister     *lister
	informers  *factory
}

// lister is the snapshot of the moment.
type lister struct{ fwk.SharedLister }

func main() {
	ctx := context.Background()
	metrics.Register()
	asked := newProbe()
	in, out := json.NewDecoder(bufio.NewReaderSize(os.Stdin, 1<<20)), bufio.NewWriter(os.Stdout)
	for in.More() {
		var each Case
		if err := in.Decode(&each); err != nil {
			log.Fatal(err)
		}
		if err := asked.use(ctx, each.Configuration); err != nil {
			log.Fatal(err)
		}
		line, err := json.Marshal(asked.answer(ctx, &each))
		if err != nil {
			log.Fatal(err)
		}
		if _, err := out.Write(append(line, '\n')); err != nil {
			log.Fatal(err)
		}
		if err := out.Flush(); err != nil {
			log.Fatal(err)
		}
	}
}

func newProbe() *probe {
	client := fake.NewClientset()
	return &probe{
		frameworks: map[string]framework.Framework{},
		client:     client,
		lister:     &lister{internalcache.NewEmptySnapshot()},
		informers:  newFactory(client),
	}
}

// use has the probe ask the first profile of the configuration. Its extenders are not asked.
func (p *probe) use(ctx context.Context, text []byte) error {
	known, ok := p.frameworks[string(text)]
	if !ok {
		configuration, err := decode(text)
		if err != nil {
			return err
		}
		if known, err = p.framework(ctx, configuration); err != nil {
			return err
		}
		p.frameworks[string(text)] = known
	}
	p.Framework = known
	return nil
}

func decode(text []byte) (*config.KubeSchedulerConfiguration, error) {
	if len(text) == 0 || string(text) == "null" {
		return latest.Default()
	}
	object, _, err := scheme.Codecs.UniversalDecoder().Decode(text, nil, nil)
	if err != nil {
		return nil, err
	}
	configuration, ok := object.(*config.KubeSchedulerConfiguration)
	if !ok {
		return nil, fmt.Errorf("not a configuration: %T", object)
	}
	return configuration, validation.ValidateKubeSchedulerConfiguration(configuration)
}

// framework makes the framework of the first profile. DynamicResources is left out: we model nothing of it.
func (p *probe) framework(
	ctx context.Context, configuration *config.KubeSchedulerConfiguration,
) (framework.Framework, error) {
	profile := configuration.Profiles[0]
	profile.Plugins.MultiPoint.Disabled = append(
		profile.Plugins.MultiPoint.Disabled, config.Plugin{Name: names.DynamicResources},
	)
	kept := []config.Plugin{}
	for _, each := range profile.Plugins.MultiPoint.Enabled {
		if each.Name != names.DynamicResources {
			kept = append(kept, each)
		}
	}
	profile.Plugins.MultiPoint.Enabled = kept
	return frameworkruntime.NewFramework(
		ctx, plugins.NewInTreeRegistry(), &profile,
		frameworkruntime.WithClientSet(p.client),
		frameworkruntime.WithInformerFactory(p.informers),
		frameworkruntime.WithSnapshotSharedLister(p.lister),
		frameworkruntime.WithSharedCSIManager(
			nodevolumelimits.NewCSIManager(p.informers.Storage().V1().CSINodes().Lister()),
		),
		frameworkruntime.WithMetricsRecorder(metrics.NewMetricsAsyncRecorder(1000, time.Second, ctx.Done())),
		frameworkruntime.WithParallelism(1),
	)
}

func (p *probe) answer(ctx context.Context, each *Case) []map[string]Refusal {
	p.informers.clear()
	p.informers.add(each)
	pods := each.Pods
	answers := []map[string]Refusal{}
	for _, step := range each.Steps {
		pods = without(pods, step.Remove)
		p.lister.SharedLister = internalcache.NewSnapshot(pods, each.Nodes)
		if step.Pod == nil {
			continue
		}
		state := framework.NewCycleState()
		refused := p.verdicts(ctx, state, step.Pod, each.Nodes)
		answers = append(answers, refused)
		if step.Node != "" {
			if _, ok := refused[step.Node]; !ok {
				p.reserve(ctx, state, step)
			}
			placed := step.Pod.DeepCopy()
			placed.Spec.NodeName = step.Node
			pods = append(pods, placed)
		}
	}
	return answers
}

// verdicts asks all filters about the pod on each node.
func (p *probe) verdicts(
	ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes []*v1.Node,
) map[string]Refusal {
	refused := map[string]Refusal{}
	result, status, _ := p.RunPreFilterPlugins(ctx, state, pod)
	for _, node := range nodes {
		switch {
		case !status.IsSuccess():
			refused[node.Name] = refusal(status)
		case !result.AllNodes() && !result.NodeNames.Has(node.Name):
			refused[node.Name] = Refusal{"PreFilter", "not among the nodes of PreFilter"}
		default:
			info, err := p.lister.NodeInfos().Get(node.Name)
			if err != nil {
				log.Fatal(err)
			}
			if status := p.RunFilterPlugins(ctx, state, pod, info); !status.IsSuccess() {
				refused[node.Name] = refusal(status)
			}
		}
	}
	return refused
}

// reserve gives the pod its volumes on the node: the next pod finds them taken. The next case forgets it.
func (p *probe) reserve(ctx context.Context, state fwk.CycleState, step Step) {
	if status := p.RunReservePluginsReserve(ctx, state, step.Pod, step.Node); !status.IsSuccess() {
		log.Fatal(status.AsError())
	}
}

func refusal(status *fwk.Status) Refusal {
	if status.Code() == fwk.Error {
		return Refusal{"Error", status.Message()}
	}
	return Refusal{status.Plugin(), strings.Join(status.Reasons(), "; ")}
}

func without(pods []*v1.Pod, names []string) []*v1.Pod {
	gone := map[string]bool{}
	for _, name := range names {
		gone[name] = true
	}
	kept := make([]*v1.Pod, 0, len(pods))
	for _, pod := range pods {
		if !gone[fmt.Sprintf("%s/%s", pod.Namespace, pod.Name)] {
			kept = append(kept, pod)
		}
	}
	return kept
}
