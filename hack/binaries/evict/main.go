// Deletes pods, or marks and deletes them, with client-go: what kube-scheduler does to its victims. The bench prints it
// beside what reprieve does.
//
//	evict -kubeconfig FILE -namespace NAME -labels load=victim -in-flight 16 [-mark]
//
// It lists the pods first. Its answer is one line of JSON on stdout: how many pods there were, the seconds from the first
// request to the last answer, and the CPU seconds that this process took for that.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/clientcmd"
)

type answer struct {
	Pods    int     `json:"pods"`
	Seconds float64 `json:"seconds"`
	CPU     float64 `json:"cpu"`
}

func main() {
	kubeconfig := flag.String("kubeconfig", "", "the file that says where the API server is")
	namespace := flag.String("namespace", "default", "of the pods")
	labels := flag.String("labels", "", "a selector of the pods")
	inFlight := flag.Int("in-flight", 16, "pods at a time")
	mark := flag.Bool("mark", false, "mark each pod before it is deleted, and delete it in that version only")
	flag.Parse()
	pods, err := connect(*kubeconfig, *namespace)
	if err != nil {
		log.Fatal(err)
	}
	victims, err := pods.List(context.Background(), metav1.ListOptions{LabelSelector: *labels})
	if err != nil {
		log.Fatal(err)
	}
	start, before := time.Now(), cpuSeconds()
	if err := evictAll(pods, victims.Items, *inFlight, *mark); err != nil {
		log.Fatal(err)
	}
	found := answer{len(victims.Items), time.Since(start).Seconds(), cpuSeconds() - before}
	if err := json.NewEncoder(os.Stdout).Encode(found); err != nil {
		log.Fatal(err)
	}
}

// connect makes a client as kube-scheduler has one (protobuf where the API server takes it), without a limit of its own.
func connect(kubeconfig, namespace string) (typedcorev1.PodInterface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return client.CoreV1().Pods(namespace), nil
}

func evictAll(pods typedcorev1.PodInterface, victims []corev1.Pod, inFlight int, mark bool) error {
	work, faults := make(chan *corev1.Pod), make(chan error, inFlight)
	var workers sync.WaitGroup
	for range inFlight {
		workers.Go(func() {
			for victim := range work {
				if err := evict(pods, victim, mark); err != nil {
					faults <- err
					return
				}
			}
		})
	}
	var fault error
	for at := 0; at < len(victims) && fault == nil; at++ {
		select {
		case work <- &victims[at]:
		case fault = <-faults:
		}
	}
	close(work)
	workers.Wait()
	if fault == nil && len(faults) > 0 {
		fault = <-faults
	}
	return fault
}

func evict(pods typedcorev1.PodInterface, victim *corev1.Pod, mark bool) error {
	expected := metav1.Preconditions{UID: &victim.UID}
	if mark {
		marked, err := pods.Patch(context.Background(), victim.Name, types.StrategicMergePatchType, markOf(victim),
			metav1.PatchOptions{}, "status")
		if err != nil {
			return fmt.Errorf("the mark of %s: %w", victim.Name, err)
		}
		expected.ResourceVersion = &marked.ResourceVersion
	}
	err := pods.Delete(context.Background(), victim.Name, metav1.DeleteOptions{Preconditions: &expected})
	if err != nil {
		return fmt.Errorf("the deletion of %s: %w", victim.Name, err)
	}
	return nil
}

// markOf is what kube-scheduler says of a victim (pkg/scheduler/framework/preemption), with the UID as reprieve sends it.
func markOf(victim *corev1.Pod) []byte {
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": victim.UID},
		"status": map[string]any{"conditions": []map[string]any{{
			"type":               corev1.DisruptionTarget,
			"status":             corev1.ConditionTrue,
			"reason":             corev1.PodReasonPreemptionByScheduler,
			"message":            "a bench marks this pod",
			"lastTransitionTime": metav1.Now(),
		}}},
	})
	if err != nil {
		log.Fatal(err)
	}
	return body
}

func cpuSeconds() float64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		log.Fatal(err)
	}
	return seconds(used.Utime) + seconds(used.Stime)
}

func seconds(time syscall.Timeval) float64 {
	return float64(time.Sec) + float64(time.Usec)/1e6
}
