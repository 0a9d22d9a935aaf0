package main

import (
	"log"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/informers/apps"
	"k8s.io/client-go/informers/core"
	"k8s.io/client-go/informers/internalinterfaces"
	"k8s.io/client-go/informers/storage"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// factory gives informers that nobody starts. Objects are put into them by hand, so a case never waits.
type factory struct {
	informers.SharedInformerFactory
	client clientset.Interface
	byType map[reflect.Type]*informer
}

func newFactory(client clientset.Interface) *factory {
	return &factory{informers.NewSharedInformerFactory(client, 0), client, map[reflect.Type]*informer{}}
}

func (f *factory) InformerFor(
	object runtime.Object, make internalinterfaces.NewInformerFunc,
) cache.SharedIndexInformer {
	kind := reflect.TypeOf(object)
	if f.byType[kind] == nil {
		f.byType[kind] = &informer{SharedIndexInformer: make(f.client, 0)}
	}
	return f.byType[kind]
}

func (f *factory) Apps() apps.Interface {
	return apps.New(f, "", nil)
}

func (f *factory) Core() core.Interface {
	return core.New(f, "", nil)
}

func (f *factory) Storage() storage.Interface {
	return storage.New(f, "", nil)
}

// clear removes all objects, and tells the handlers.
func (f *factory) clear() {
	for _, each := range f.byType {
		for _, object := range each.GetIndexer().List() {
			if err := each.GetIndexer().Delete(object); err != nil {
				log.Fatal(err)
			}
			for _, handler := range each.handlers {
				handler.OnDelete(object)
			}
		}
	}
}

// add puts the objects of the case into the informers that a plugin has asked for, and tells the handlers.
func (f *factory) add(each *Case) {
	put(f, each.Namespaces)
	put(f, each.Services)
	put(f, each.ReplicationControllers)
	put(f, each.ReplicaSets)
	put(f, each.StatefulSets)
	put(f, each.StorageClasses)
	put(f, each.CSINodes)
	put(f, each.CSIDrivers)
	put(f, each.CSIStorageCapacities)
	put(f, each.PersistentVolumes)
	put(f, each.PersistentVolumeClaims)
	put(f, each.Nodes)
}

func put[T runtime.Object](f *factory, objects []T) {
	for _, object := range objects {
		known := f.byType[reflect.TypeOf(object)]
		if known == nil {
			continue
		}
		if err := known.GetIndexer().Add(object); err != nil {
			log.Fatal(err)
		}
		for _, handler := range known.handlers {
			handler.OnAdd(object, true)
		}
	}
}

// informer remembers its handlers, because an informer that was not started does not call them.
type informer struct {
	cache.SharedIndexInformer
	handlers []cache.ResourceEventHandler
}

func (i *informer) AddEventHandler(
	handler cache.ResourceEventHandler,
) (cache.ResourceEventHandlerRegistration, error) {
	i.handlers = append(i.handlers, handler)
	return synced{}, nil
}

type synced struct{}

func (synced) HasSynced() bool { return true }

func (synced) HasSyncedChecker() cache.DoneChecker { return nil }
